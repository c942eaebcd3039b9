/** When a failed delivery is tried again. Source: Standard Webhooks, retry schedule. */

const [second, minute, hour] = [1_000, 60_000, 3_600_000]

/** Milliseconds from one attempt to the next. */
const delays = [
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour,
] as const

/** The longest wait between two attempts, also if the receiver asks for a longer one. */
export const longestWaitMs = 24 * hour

/** A wait is up to a fifth shorter or longer. Deliveries that failed together then spread. */
const spread = 0.2

/** Returns a factor for the waits after one attempt. @param random from 0 to 1 */
export function spreadFactor(random = Math.random()): number {
  return 1 + spread * (2 * random - 1)
}

/** Milliseconds after the nth attempt that failed. Undefined: it was the last. */
export function waitAfter(attempts: number): number | undefined {
  return delays[attempts - 1]
}
