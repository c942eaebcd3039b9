/** Reads folders whole. */

import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The bytes of each file by its path, in order; what begins with a dot at the top is no part of an export. */
export async function filesIn(dir: string): Promise<Map<string, Buffer>> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true })
  const paths = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(dir.length + 1))
  const exported = paths.filter((path) => !path.startsWith('.grove/')).sort()
  return new Map(await Promise.all(exported.map(async (path) => [path, await readFile(join(dir, path))] as const)))
}
