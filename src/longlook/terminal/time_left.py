"""The column of bars with the time that is left."""

from rich.progress import ProgressColumn, Task
from rich.text import Text

from longlook.terminal.console import duration


class TimeLeft(ProgressColumn):
    """The column with the real time that is left, by the task's own estimate `left_s` if there is one."""

    def render(self, task: Task) -> Text:
        """Return the text."""
        left_s = task.fields.get("left_s", task.time_remaining)
        return Text("" if left_s is None or task.finished else f"about {duration(left_s)} left")
