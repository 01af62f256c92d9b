"""`longlook certify`: trials → how often this method is wrong: the error rates of verdicts, and exactness.

Runs of shipped studies are the bank of trials; rates come from resampling it through the procedures that make verdicts.
`run.certify` makes a certificate, with `run.CertifyOptions`, in a `trial_bank.Scale`. `certificate.Certificate` is the
result, `rates.Rate` a share with its interval and level. `fixed_rounds` computes rates of studies whose number of
rounds is fixed, `stopped_rounds` the rates of studies that stop when they are decided. `redrawn` computes the rates of
a procedure in `simulated_loads`, whose losses are drawn anew, `integrated_rates` the rates of `integrated_rounds`, and
`strata_trials` compares both in trials that were run. `exactness` repeats trials on a disturbed host, and `document`
has the tables of docs/reference/certificate.md. For `longlook explain --certify`, `planted` runs and explains the cases
of `planted_cases`, whose causes are known.
"""

from typing import TYPE_CHECKING

from longlook.core import lazy

if TYPE_CHECKING:
    from longlook.instruments.certify import command as command
    from longlook.instruments.certify.planted import certify_explanations as certify_explanations
    from longlook.instruments.certify.show import matrix_shown as matrix_shown
else:
    __all__, __getattr__ = lazy(
        __name__,
        {
            "planted": "certify_explanations",
            "show": "matrix_shown",
        },
        "command",
    )
