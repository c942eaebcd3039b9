/** A service to measure, with one user, and nodes whose history is made directly. */

import { rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { newDataDir } from '../support/data-folder.ts'
import type { Headers } from '../support/exchange.ts'
import { expecting } from '../support/node.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'
import { type Connection, connectTo } from './load.ts'

export interface BenchNode {
  readonly id: string
  /** `/orgs/…/nodes/…` */
  readonly at: string
  readonly repo: string
}

export interface Scene {
  readonly dataDir: string
  /** The service that runs now. `restart` replaces it. */
  readonly grove: SpawnedGrove
  readonly ann: PersonClient
  readonly headers: Headers
  node(fields?: object): Promise<BenchNode>
  /** Opens a connection that acts as Ann. The caller closes it. */
  connect(): Connection
  /** Stops the service, runs `meanwhile`, and starts the service again. */
  restart(workers?: number, meanwhile?: () => Promise<unknown>): Promise<void>
  close(): Promise<void>
}

/**
 * Opens a scene. Ann's token is valid for 15 minutes, and no scene takes that long.
 *
 * @param folder as for spawnGrove
 */
export async function openScene(
  workers = 1,
  environment: Record<string, string> = {},
  folder?: string,
): Promise<Scene> {
  const dataDir = await newDataDir()
  const start = (count: number) => spawnGrove(dataDir, { WORKERS: String(count), ...environment }, [], folder)
  let grove = await start(workers)
  let ann = await signUp(grove, 'Ann')
  const { accessToken } = ann.session
  const headers = { authorization: `Bearer ${accessToken}` }
  const abandon = () => {
    process.kill(grove.pid, 'SIGKILL')
    rmSync(dataDir, { recursive: true, force: true })
  }
  // For a run that is interrupted.
  process.once('exit', abandon)
  return {
    dataDir,
    get grove() {
      return grove
    },
    get ann() {
      return ann
    },
    headers,
    node: async (fields = {}) => {
      const { body } = await ann.post(`/orgs/${ann.org}/nodes`, { title: 'History', ...fields }).then(expecting(201))
      return { id: body.id, at: `/orgs/${ann.org}/nodes/${body.id}`, repo: join(dataDir, ann.org, `${body.id}.git`) }
    },
    connect: () => connectTo(grove.url, headers),
    restart: async (count = workers, meanwhile = async () => {}) => {
      await grove.stop()
      await meanwhile()
      grove = await start(count)
      ann = { ...ann, ...client(grove, accessToken) }
    },
    close: async () => {
      process.off('exit', abandon)
      await grove.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}
