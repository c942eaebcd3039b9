/** Slices of rows, because the number of rows in a statement is limited. */

/** Rows per statement that lists each of them. */
const sliceRows = 100

/** Calls `run` with slices of `all` in turn. */
export async function inSlices<T>(all: readonly T[], run: (rows: readonly T[]) => Promise<unknown>): Promise<void> {
  for (let at = 0; at < all.length; at += sliceRows) await run(all.slice(at, at + sliceRows))
}
