/** Sizes of files in words. */

const units = ['KiB', 'MiB', 'GiB'] as const

/** Returns a number of bytes with its unit, such as `12 bytes` or `3.4 MiB`. */
export function sizeOf(bytes: number): string {
  if (bytes < 1_024) return bytes === 1 ? '1 byte' : `${bytes} bytes`
  let size = bytes / 1_024
  let unit = 0
  for (; size >= 1_023.95 && unit < units.length - 1; unit++) size /= 1_024
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} ${units[unit]}`
}
