/** The blocks of the tour, run one after the other as they stand in the READMEs. */

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { environment, run } from './clone.ts'

/** Of the service, as the tour names it. */
const address = 'http://127.0.0.1:3000'

/** Where the tour begins and where it goes on: a file, and its section. */
const sections: readonly (readonly [string, string])[] = [
  ['README.md', 'A tour of ten minutes'],
  ['spec/README.md', 'Reading what changed'],
  ['server/vault/README.md', 'Import: folders of Markdown'],
]

/**
 * What each block of the tour prints, the tour run as one script; only the service's address is another.
 *
 * @param more of the environment
 * @param afterSignUp shell, which prints nothing
 */
export async function tour(
  folder: string,
  url: string,
  more: Readonly<Record<string, string>> = {},
  afterSignUp = '',
): Promise<string[]> {
  const blocks: string[] = []
  for (const [file, title] of sections) {
    const [, section = ''] = (await readFile(join(folder, file), 'utf8')).split(new RegExp(`^##? ${title}$`, 'm'))
    const [untilNext = ''] = section.split(/^## /m)
    blocks.push(...[...untilNext.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map((match) => match[1] ?? ''))
  }
  const script = blocks
    .map((block, at) => `${block}${at === 0 ? afterSignUp : ''}printf '${endOfBlock.replace('\n', '\\n')}'\n`)
    .join('')
  if (script.split(address).length !== 2) throw new Error(`the tour names ${address} once`)
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', script.replace(address, url)], {
    cwd: folder,
    env: { ...environment(), ...more, PATH: `${join(folder, 'bin')}:${environment().PATH}` },
  }).catch((error: { stdout: string; stderr: string }) => {
    throw new Error(`the tour broke off:\n${error.stdout}\n${error.stderr}`)
  })
  return stdout.split(endOfBlock).slice(0, -1)
}

const endOfBlock = '=== end of block ===\n'
