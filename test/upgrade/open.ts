/** Data folders of earlier releases, as their fixtures have them. */

import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
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
  /** The answer to each request: the status, a space, the body. */
  readonly answers: Readonly<Record<string, string>>
}

/** A release: its API description, and the client that was generated from it. */
export interface Contract {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  readonly components: object
  /** The source of `grove/client`. */
  readonly client: string
}

export interface Described {
  readonly operationId: string
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: object }>> }
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: object }>> }>
  >
}

export async function contractOfRelease(version: string): Promise<Contract> {
  return JSON.parse(gunzipSync(await readFile(`test/upgrade/${version}.contract.gz`)).toString('utf8'))
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
