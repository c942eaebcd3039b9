/** Turns vectors of real numbers into those that are stored and compared. */

/** The largest value of a quantised vector. */
const largest = 127

/**
 * Returns v / max|v| · 127, rounded. The length of a vector is lost, which cosines do not need.
 *
 * @throws RangeError a value is not finite, or all are zero
 */
export function quantised(values: ArrayLike<number>): Int8Array {
  let most = 0
  for (let at = 0; at < values.length; at++) {
    const size = Math.abs(values[at] ?? Number.NaN)
    if (!Number.isFinite(size)) throw new RangeError('A vector has a value that is not finite')
    if (size > most) most = size
  }
  if (most === 0) throw new RangeError('A vector has only zeros')
  return Int8Array.from(values, (value) => Math.round((value / most) * largest))
}
