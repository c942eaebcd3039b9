/** Two services over one data folder, as two processes: what one does must hold for the other. */

import { rm } from 'node:fs/promises'
import { newDataDir } from '../support/data-folder.ts'
import { type Grove, type GroveOptions, startGrove } from '../support/grove.ts'

export let dataDir: string
export let here: Grove
export let there: Grove

/** Starts both for a `describe`. */
export function useTwoServices(options: GroveOptions = {}): void {
  before(async () => {
    dataDir = await newDataDir()
    here = await startGrove({ ...options, dataDir })
    there = await startGrove({ ...options, dataDir })
  })
  after(async () => {
    await here.close()
    await there.close()
    await rm(dataDir, { recursive: true, force: true })
  })
}
