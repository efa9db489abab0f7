# SPDX-License-Identifier: GPL-3.0-or-later
"""The texts of a session: consent, orientation and task, as the subject reads them."""

from .cases import PAGE_A, PAGE_B, VIDEO

CONSENT = (
    "You are asked to take part in a study of how people judge the quality of web pages and of a"
    " video over different networks.",
    "Taking part is voluntary. You may take a break or stop at any time and need not give a reason.",
    "After each run we keep your grade, your comment if you write one, and times that were measured:"
    " how long the page or the video took. We keep no name, no address, no date, and nothing about"
    " your browser. Please write nothing into a comment that says who you are.",
    "The session takes about 40 minutes.",
)
CONSENT_BUTTON = "I have read this and take part"

ORIENTATION = (
    "Welcome, and thank you for your time.",
    "You will open two web pages and watch a short video, each of them several times. Please imagine"
    " that you do so on a mobile phone, over its network.",
    "The network differs from run to run. Neither you nor the person beside you knows how: the"
    " computer draws the order. So please judge each run by itself, as you experience it.",
    "When a run is over, you choose one of five grades, and you may add a comment. There are no"
    " right and no wrong answers. We test networks; we do not test you.",
    "If anything is unclear, please ask now.",
)
ORIENTATION_BUTTON = "I am ready"

NAME = {PAGE_A: "Page A", PAGE_B: "Page B", VIDEO: "Video"}
TASK = {
    PAGE_A: "Open the search page and watch how it appears.",
    PAGE_B: "Open the catalogue and watch how the page and its pictures appear. Some runs take"
    " minutes: as soon as you know your grade, you may stop.",
    VIDEO: "Watch the video to its end.",
}
REFERENCE = (
    "This run shows you the best quality of this task. You do not grade it. Please grade the runs"
    " that follow in comparison with it."
)
QUESTION = "How was the quality that you have just experienced?"
COMMENT = "Comment (you may leave this empty)"
DONE = "That was the last run. Thank you very much."
PREPARING = "The next run is being prepared. Please wait a moment."
STOP = {PAGE_A: "I have seen enough", PAGE_B: "I have seen enough", VIDEO: "The video is over"}
START = {PAGE_A: "Open the page", PAGE_B: "Open the page", VIDEO: "Start the video"}
