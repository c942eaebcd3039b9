/** Optimal string alignment in its plainest form: Levenshtein, and two swapped neighbours as one edit. */

export function alignment(one: string, other: string): number {
  const [a, b] = [[...one], [...other]]
  const table = a.map((_, i) => [i + 1])
  const at = (i: number, j: number): number => (i === 0 ? j : j === 0 ? i : (table[i - 1]?.[j] ?? 0))
  for (const [i, left] of a.entries())
    for (const [j, right] of b.entries()) {
      const isSwap = i > 0 && j > 0 && left === b[j - 1] && a[i - 1] === right
      const edits = [at(i, j) + (left === right ? 0 : 1), at(i, j + 1) + 1, at(i + 1, j) + 1]
      table[i]?.push(Math.min(...edits, isSwap ? at(i - 1, j - 1) + 1 : Number.POSITIVE_INFINITY))
    }
  return at(a.length, b.length)
}
