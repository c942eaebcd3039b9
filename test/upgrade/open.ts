/** Data folders of earlier releases, as their fixtures have them. */

import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { newDataDir } from '../support/data-folder.ts'

export const queries = ['whales sing', 'salt']

const ending = '.tar.gz'

export const releases = readdirSync('test/upgrade')
  .filter((name) => name.endsWith(ending))
  .map((name) => name.slice(0, -ending.length))

export interface Release {
  readonly dataDir: string
  readonly org: string
  /** A personal access token of its owner. */
  readonly token: string
  /** What each request was answered: the status, a space, the body. */
  readonly answers: Readonly<Record<string, string>>
}

/** Unpacks a copy of the release's data folder. */
export async function openRelease(version: string): Promise<Release> {
  const dataDir = await newDataDir()
  await promisify(execFile)('tar', ['-C', dataDir, '-xzf', `test/upgrade/${version}${ending}`])
  const file = join(dataDir, 'answers.json')
  const said = JSON.parse(await readFile(file, 'utf8'))
  await rm(file)
  return { dataDir, ...said }
}
