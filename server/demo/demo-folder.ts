/** The data folder of `grove demo`. A file in it says that the demo made it, so nothing else is ever removed. */

import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { replaceFile } from '../../gitstore/durable.ts'
import { ignoreMissing } from '../../gitstore/fs-exists.ts'
import { ConfigError } from '../base/config.ts'
import { runFolder } from '../domain/layout.ts'
import { listLiveProcesses } from '../domain/live-processes.ts'
import { makeOwnFolder } from '../process/data-folder.ts'

/** The content of the file. */
export interface Made {
  /** The id of the organisation. Absent: the demo is not complete. */
  readonly org?: string | undefined
}

const markerIn = (root: string) => join(root, '.grove-demo.json')

/** Other programs may write a file with this name, so its content also counts. */
const markerSchema = z.object({ made_by: z.literal('grove demo'), org: z.uuid().optional() })

function markerOf(made: Made): string {
  return `${JSON.stringify({ made_by: 'grove demo', ...made })}\n`
}

/**
 * Makes the folder, or empties that of a demo if it is incomplete.
 *
 * `isReset` also empties it if it is complete.
 *
 * @returns the complete demo in it; undefined if the folder is to be filled
 * @throws ConfigError: it is not a demo, or another process uses it
 */
export async function prepareDemoFolder(root: string, isReset: boolean): Promise<Made | undefined> {
  await makeOwnFolder(root)
  const made = await readMarker(root)
  if (made?.org !== undefined && !isReset) return made
  if (made === undefined) await requireEmpty(root)
  else await emptyFolder(root)
  await writeFile(markerIn(root), markerOf({}), { flag: 'wx', mode: 0o600 })
  return undefined
}

/** Writes that the demo is complete. */
export async function finishDemo(root: string, made: Made): Promise<void> {
  await replaceFile(markerIn(root), markerOf(made))
}

/** Refuses the folder of a demo, because its passwords are known. @throws ConfigError */
export async function refuseDemo({ dataDir }: { readonly dataDir: string }): Promise<undefined> {
  if ((await readMarker(dataDir)) === undefined) return undefined
  const reason = `${dataDir} is a demo, and its passwords are known`
  throw new ConfigError(`DATA_DIR: ${reason}; run grove demo, or use another folder`)
}

/** Undefined: there is none, or it is not ours. */
async function readMarker(root: string): Promise<Made | undefined> {
  const text = await ignoreMissing(readFile(markerIn(root), 'utf8'))
  return text === undefined ? undefined : markerSchema.safeParse(parsed(text)).data
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** @throws ConfigError: there are files, and the demo did not make them */
async function requireEmpty(root: string): Promise<void> {
  const [found] = (await ignoreMissing(readdir(root))) ?? []
  if (found === undefined) return
  const reason = `${root} is not a demo, because it has ${found} and grove demo did not make it`
  throw new ConfigError(`DATA_DIR: ${reason}; unset DATA_DIR, or use an empty folder`)
}

async function emptyFolder(root: string): Promise<void> {
  if ((await listLiveProcesses(runFolder(root))).length > 0)
    throw new ConfigError(`DATA_DIR: another process uses the demo in ${root}; stop it first`)
  const names = await readdir(root)
  // The marker goes last, so that an interrupted run still knows the folder.
  for (const name of names.filter((one) => join(root, one) !== markerIn(root)))
    await rm(join(root, name), { recursive: true, force: true })
  await rm(markerIn(root), { force: true })
}
