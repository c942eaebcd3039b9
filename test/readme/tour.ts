/** Runs the shell blocks of sections of the READMEs, one after the other, as they are written there. */

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { environment, run } from './clone.ts'

/** The service's URL in the READMEs. Each script names it once. */
const address = 'http://127.0.0.1:3000'

/** A section of a README whose blocks are run. */
export interface Section {
  readonly file: string
  /** Its heading, without `#`. It ends before the next heading of level 2. */
  readonly section: string
}

/** The tour, and the sections that continue it in the same shell. */
export const tourSections: readonly Section[] = [
  { file: 'spec/README.md', section: 'Tour' },
  { file: 'server/features/vault/README.md', section: 'Import: folders of Markdown' },
]

/** A block of shell, and the response that the README shows after it. */
export interface Block {
  readonly script: string
  /** JSON; undefined if the README shows no response. */
  readonly sample: string | undefined
}

export interface TourOptions {
  readonly sections?: readonly Section[]
  /** Further variables of the environment. */
  readonly more?: Readonly<Record<string, string>>
  /** Shell that prints nothing. */
  readonly afterSignUp?: string
}

/** The output of each block; the sections run as one script, with the service at `url`. */
export async function tour(folder: string, url: string, options: TourOptions = {}): Promise<string[]> {
  const { sections = tourSections, more = {}, afterSignUp = '' } = options
  const blocks = await blocksOf(folder, sections)
  const script = blocks
    .map(({ script }, at) => `${script}${at === 0 ? afterSignUp : ''}printf '${endOfBlock.replace('\n', '\\n')}'\n`)
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

/** The blocks of shell in these sections, in order. */
export async function blocksOf(folder: string, sections: readonly Section[]): Promise<Block[]> {
  const blocks: { script: string; sample: string | undefined }[] = []
  for (const { file, section } of sections) {
    const [, text = ''] = (await readFile(join(folder, file), 'utf8')).split(new RegExp(`^##? ${section}$`, 'm'))
    const [untilNext = ''] = text.split(/^## /m)
    for (const [, language, code = ''] of untilNext.matchAll(/^```(sh|json)\n([\s\S]*?)^```$/gm)) {
      const last = blocks.at(-1)
      if (language === 'sh') blocks.push({ script: code, sample: undefined })
      else if (last !== undefined) last.sample = code
    }
  }
  return blocks
}
