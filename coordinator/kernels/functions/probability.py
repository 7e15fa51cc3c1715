"""Distribution functions and their inverses (Presto's are those of Apache Commons Math): accurate to about 1e-12."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from statistics import NormalDist

from ..errors import KernelError
from .failures import check, invalid
from .table import Table, plain

_TINY, _STEPS = 1e-300, 500
_LARGEST = (1 << 31) - 1
"""Results are integers."""
Cdf = Callable[[float], float]


def beta_part(x: float, a: float, b: float) -> float:
    """The regularized incomplete beta function, by Lentz's continued fraction (Numerical Recipes 6.4)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * _beta_fraction(x, a, b) / a
    return 1 - front * _beta_fraction(1 - x, b, a) / b


def _beta_fraction(x: float, a: float, b: float) -> float:
    c, d = 1.0, 1 / _away(1 - (a + b) * x / (a + 1))
    result = d
    for m in range(1, _STEPS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d, c = 1 / _away(1 + term * d), _away(1 + term / c)
            result *= d * c
        if abs(d * c - 1) < 1e-16:
            break
    return result


def _away(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def gamma_part(a: float, x: float) -> float:
    """The regularized lower incomplete gamma function (Numerical Recipes 6.2)."""
    if x <= 0:
        return 0.0
    if math.isinf(x):
        return 1.0
    front = math.exp(-x + a * math.log(x) - math.lgamma(a))
    if x < a + 1:
        term = total = 1 / a
        for n in range(1, 100_000):
            term *= x / (a + n)
            total += term
            if abs(term) < abs(total) * 1e-17 or not math.isfinite(total):
                break
        return total * front
    b = x + 1 - a
    c, d = 1 / _TINY, 1 / b
    result = d
    for i in range(1, 100_000):
        term = -i * (i - a)
        b += 2
        d, c = 1 / _away(term * d + b), _away(b + term / c)
        result *= d * c
        if abs(d * c - 1) < 1e-16 or not math.isfinite(result):
            break
    return 1 - front * result


def _solve(cdf: Cdf, p: float, low: float, high: float) -> float:
    """Where the increasing ``cdf`` reaches ``p``, by bisection to the last bits."""
    if p == 0 and math.isfinite(low):
        return low
    if p == 1 and math.isfinite(high):
        return high
    while math.isinf(high) or cdf(high) < p:
        high = 1.0 if math.isinf(high) else high * 2
        if high > 1e300:
            return math.inf
        if not math.isinf(high) and cdf(high) >= p:
            break
    while math.isinf(low) or cdf(low) > p:
        low = -1.0 if math.isinf(low) else low * 2
        if low < -1e300:
            return -math.inf
        if cdf(low) <= p:
            break
    for _ in range(400):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if cdf(middle) < p:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _probability(p: float) -> None:
    check(0 <= p <= 1, "p must be in the interval [0, 1]")


def _beta(a: float, b: float, x: float) -> float:
    check(0 <= x <= 1, "value must be in the interval [0, 1]")
    _positive(a, b, "a", "b")
    return beta_part(x, a, b)


def _positive(a: float, b: float, first: str, second: str) -> None:
    check(a > 0, f"{first} must be > 0")
    check(b > 0, f"{second} must be > 0")


def _inverse_beta(a: float, b: float, p: float) -> float:
    _probability(p)
    _positive(a, b, "a", "b")
    return _solve(partial(lambda x: beta_part(x, a, b)), p, 0.0, 1.0)


def _binomial(trials: int, success: float, value: int) -> float:
    check(0 <= success <= 1, "successProbability must be in the interval [0, 1]")
    check(trials > 0, "numberOfTrials must be greater than 0")
    if value < 0:
        return 0.0
    return 1.0 if value >= trials else 1 - beta_part(success, value + 1, trials - value)


def _inverse_binomial(trials: int, success: float, p: float) -> int:
    _probability(p)
    check(0 <= success <= 1, "successProbability must be in the interval [0, 1]")
    check(trials > 0, "numberOfTrials must be greater than 0")
    low, high = 0, trials
    while low < high:
        middle = (low + high) // 2
        if _binomial(trials, success, middle) < p:
            low = middle + 1
        else:
            high = middle
    return low


def _cauchy(median: float, scale: float, value: float) -> float:
    check(scale > 0, "scale must be greater than 0")
    return 0.5 + math.atan((value - median) / scale) / math.pi


def _inverse_cauchy(median: float, scale: float, p: float) -> float:
    _probability(p)
    check(scale > 0, "scale must be greater than 0")
    if p in (0, 1):
        return math.inf if p else -math.inf
    return median + scale * math.tan(math.pi * (p - 0.5))


def _chi_squared(freedom: float, value: float) -> float:
    check(value >= 0, "value must non-negative")
    check(freedom > 0, "df must be greater than 0")
    return gamma_part(freedom / 2, value / 2)


def _inverse_chi_squared(freedom: float, p: float) -> float:
    _probability(p)
    check(freedom > 0, "df must be greater than 0")
    return math.inf if p == 1 else _solve(lambda x: gamma_part(freedom / 2, x / 2), p, 0.0, math.inf)


def _f(first: float, second: float, value: float) -> float:
    check(value >= 0, "value must non-negative")
    check(first > 0, "numerator df must be greater than 0")
    check(second > 0, "denominator df must be greater than 0")
    return beta_part(first * value / (second + first * value), first / 2, second / 2)


def _inverse_f(first: float, second: float, p: float) -> float:
    _probability(p)
    check(first > 0, "numerator df must be greater than 0")
    check(second > 0, "denominator df must be greater than 0")
    return math.inf if p == 1 else _solve(lambda x: _f(first, second, x), p, 0.0, math.inf)


def _gamma(shape: float, scale: float, value: float) -> float:
    check(value >= 0, "value must be greater than, or equal to, 0")
    check(shape > 0, "shape must be greater than 0")
    check(scale > 0, "scale must be greater than 0")
    return gamma_part(shape, value / scale)


def _inverse_gamma(shape: float, scale: float, p: float) -> float:
    _probability(p)
    check(shape > 0, "shape must be greater than 0")
    check(scale > 0, "scale must be greater than 0")
    return math.inf if p == 1 else _solve(lambda x: gamma_part(shape, x / scale), p, 0.0, math.inf)


def _laplace(mean: float, scale: float, value: float) -> float:
    check(scale > 0, "scale must be greater than 0")
    gap = (value - mean) / scale
    return 0.5 * math.exp(gap) if gap < 0 else 1 - 0.5 * math.exp(-gap)


def _inverse_laplace(mean: float, scale: float, p: float) -> float:
    _probability(p)
    check(scale > 0, "scale must be greater than 0")
    if p in (0, 1):
        return math.inf if p else -math.inf
    return mean + scale * (math.log(2 * p) if p < 0.5 else -math.log(2 - 2 * p))


def _normal(mean: float, deviation: float, value: float) -> float:
    check(deviation > 0, "standardDeviation must be > 0")
    return 0.5 * math.erfc((mean - value) / (deviation * math.sqrt(2)))


def _inverse_normal(mean: float, deviation: float, p: float) -> float:
    check(0 < p < 1, "p must be 0 > p > 1")
    check(deviation > 0, "sd must be > 0")
    z = NormalDist().inv_cdf(p)
    # One step of Newton's method: the library's approximation has 16 digits, its tails fewer.
    z -= (0.5 * math.erfc(-z / math.sqrt(2)) - p) / (math.exp(-z * z / 2) / math.sqrt(2 * math.pi))
    return mean + deviation * z


def _poisson(mean: float, value: int) -> float:
    check(value >= 0, "value must be a non-negative integer")
    check(mean > 0, "lambda must be greater than 0")
    return 1 - gamma_part(value + 1, mean)


def _inverse_poisson(mean: float, p: float) -> int:
    check(0 <= p < 1, "p must be in the interval [0, 1)")
    check(mean > 0, "lambda must be greater than 0")
    low, high = 0, 1
    while high < _LARGEST and _poisson(mean, high) < p:
        high *= 2
    high = min(high, _LARGEST)
    while low < high:
        middle = (low + high) // 2
        if _poisson(mean, middle) < p:
            low = middle + 1
        else:
            high = middle
    return low


def _student(freedom: float, value: float) -> float:
    check(freedom > 0, "df must be greater than 0")
    tail = 0.5 * beta_part(freedom / (freedom + value * value), freedom / 2, 0.5)
    return tail if value < 0 else 1 - tail


def _inverse_student(freedom: float, p: float) -> float:
    _probability(p)
    check(freedom > 0, "df must be greater than 0")
    if p in (0, 1):
        return math.inf if p else -math.inf
    return 0.0 if p == 0.5 else _solve(lambda x: _student(freedom, x), p, -1.0, 1.0)


def _weibull(a: float, b: float, value: float) -> float:
    check(a > 0, "a must be greater than 0")
    check(b > 0, "b must be greater than 0")
    return 0.0 if value <= 0 else 1 - math.exp(-((value / b) ** a))


def _inverse_weibull(a: float, b: float, p: float) -> float:
    _probability(p)
    check(a > 0, "a must be greater than 0")
    check(b > 0, "b must be greater than 0")
    return math.inf if p == 1 else b * (-math.log1p(-p)) ** (1 / a)


def _with_java_name(name: str, function: Callable[..., object]) -> Callable[..., object]:
    """The function, whose errors begin with its name in Java."""
    first, *words = name.split("_")
    java = first + "".join(map(str.capitalize, words))

    def call(*values: object) -> object:
        try:
            return function(*values)
        except KernelError as error:
            raise invalid(f"{java} Function: {error.message}") from error

    return call


_WITH_JAVA_NAME: dict[str, Callable[..., object]] = {
    "beta_cdf": _beta, "inverse_beta_cdf": _inverse_beta, "cauchy_cdf": _cauchy, "inverse_cauchy_cdf": _inverse_cauchy,
    "chi_squared_cdf": _chi_squared, "inverse_chi_squared_cdf": _inverse_chi_squared, "f_cdf": _f,
    "inverse_f_cdf": _inverse_f, "gamma_cdf": _gamma, "inverse_gamma_cdf": _inverse_gamma, "laplace_cdf": _laplace,
    "inverse_laplace_cdf": _inverse_laplace, "normal_cdf": _normal, "inverse_normal_cdf": _inverse_normal,
    "poisson_cdf": _poisson, "inverse_poisson_cdf": _inverse_poisson, "weibull_cdf": _weibull,
    "inverse_weibull_cdf": _inverse_weibull,
}  # fmt: skip
PROBABILITY: Table = plain(
    binomial_cdf=_binomial, inverse_binomial_cdf=_inverse_binomial, t_cdf=_student, inverse_t_cdf=_inverse_student,
    **{name: _with_java_name(name, function) for name, function in _WITH_JAVA_NAME.items()},
)  # fmt: skip
