/** Rows of one statement. */
const rowsAtOnce = 100

/** Calls `run` with slices of `all`, one after the other: a statement takes so many rows. */
export async function inSlices<T>(all: readonly T[], run: (rows: readonly T[]) => Promise<unknown>): Promise<void> {
  for (let at = 0; at < all.length; at += rowsAtOnce) await run(all.slice(at, at + rowsAtOnce))
}
