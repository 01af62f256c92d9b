"""`longlook certify`: trials → how often this method is wrong: the error rates of verdicts, and exactness.

Runs of shipped studies are the bank of trials; rates come from resampling it through the procedures that make verdicts.
Only `cli` uses this package: `run.certify` makes a certificate, with `run.CertifyOptions`, in a `bank.Scale`;
`certificate.Certificate` is the result, `rates.Rate` a share with its interval and level. `fixed_rounds` computes rates
where the number of rounds is fixed, `stopped_rounds` where it is not; `exactness` repeats trials on a disturbed host;
`document` has the tables of docs/explanation/trust.md. `planted` runs and explains cases whose cause is known, those of
`planted_cases`.
"""
