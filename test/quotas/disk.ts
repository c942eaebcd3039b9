/** Bytes of an organisation: those that the index has, and those that the file system has. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { readUsage } from '../../index/derived/usage.ts'
import type { Grove } from '../support/grove.ts'

const run = promisify(execFile)

/** Adds up the sizes of the files of objects of all nodes of an organisation, and of its trash, with `find`. Skips unfinished files. */
export async function diskBytes({ dataDir }: Pick<Grove, 'dataDir'>, org: string): Promise<number> {
  const folders = [join(dataDir, org), join(dataDir, 'trash', org)]
  let bytes = 0
  for (const folder of folders) {
    const filter = '-type f -path *.git/objects/* -not -path */org.git/* -not -path */tmp_* -printf %s\\n'
    const { stdout } = await run('find', [folder, ...filter.split(' ')]).catch(() => ({ stdout: '' }))
    for (const size of stdout.split('\n')) bytes += Number(size)
  }
  return bytes
}

export async function countedBytes({ deps }: Pick<Grove, 'deps'>, org: string): Promise<number> {
  return (await readUsage(deps.index.read, org)).bytes
}
