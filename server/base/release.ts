/** The version of the package, and the commit that it was built from. */

import { readFileSync } from 'node:fs'
import manifest from '../../package.json' with { type: 'json' }

export const version: string = manifest.version

/** 12 digits of the commit, with `-dirty` if files had been changed. Empty if the build knew of none. */
export const commit: string = readCommit()

/** Reads what the build has written. It is not in the bundles, because then each commit would need another build. */
function readCommit(): string {
  try {
    return readFileSync(
      new URL(import.meta.url.endsWith('.ts') ? '../../dist/commit' : './commit', import.meta.url),
      'utf8',
    ).trim()
  } catch {
    return ''
  }
}
