/** A disk in a file, with ext4 on it, whose power can be cut: for root, where loop devices may be mounted. */

import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { compiled } from '../support/faults.ts'
import { until } from '../support/until.ts'

const run = promisify(execFile)

export interface Disk {
  /** Where it is mounted. */
  readonly folder: string
  cutPower(): Promise<void>
  /** Unmounts, and mounts again: the journal is replayed. Nothing may be open on it. */
  remount(): Promise<void>
  /** Unmounts it and removes everything. */
  remove(): Promise<void>
}

const bytes = 1024 ** 3

/** @throws Error that says why this machine cannot have one */
export async function makeDisk(): Promise<Disk> {
  const home = await mkdtemp(join(tmpdir(), 'grove-disk-'))
  const [image, folder] = [join(home, 'image'), join(home, 'mounted')]
  const shutdown = compiled('shutdown.cc')
  let mounted = false
  const mount = async () => {
    await run('mount', ['-o', 'loop', image, folder])
    mounted = true
  }
  const unmount = async () => {
    if (mounted) await run('umount', [folder])
    mounted = false
  }
  const remove = async () => {
    // A process that has just been killed may still hold it for a moment: then it goes when that one does.
    await unmount().catch(() => run('umount', ['-l', folder]))
    await rm(home, { recursive: true, force: true })
  }
  try {
    if (process.getuid?.() !== 0) throw new Error('only root may mount')
    await mkdir(folder)
    await writeFile(image, '')
    await truncate(image, bytes)
    await run('mkfs.ext4', ['-q', '-F', image])
    await mount()
  } catch (error) {
    await remove()
    throw error
  }
  return {
    folder,
    cutPower: async () => void (await run(shutdown, [folder])),
    remount: async () => {
      // What the killed service had started, such as git, ends a moment after it.
      await until(() =>
        unmount().then(
          () => true,
          () => false,
        ),
      )
      await mount()
    },
    remove,
  }
}
