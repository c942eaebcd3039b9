/** Sizes in the words of readers. */

const units = ['KB', 'MB', 'GB', 'TB'] as const

/** Returns a size for readers, such as `1.2 MB`. */
export function sizeOf(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`
  // Rounded to three digits, 999,500 bytes are one megabyte.
  const power = Math.min(units.length, Math.floor(Math.log10(Number(bytes.toPrecision(3))) / 3))
  const amount = bytes / 1_000 ** power
  return `${amount < 10 ? amount.toFixed(1) : Math.round(amount).toLocaleString('en')} ${units[power - 1]}`
}
