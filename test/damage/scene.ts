/** A service that is stopped, a repository that is damaged meanwhile, and what is read then. */

import { rm } from 'node:fs/promises'
import { newDataDir } from '../support/data-folder.ts'
import { gitIn, looseFile } from '../support/git.ts'
import { startGrove } from '../support/grove.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { type Client, client, type PatientClient, type PersonClient, signUp } from '../support/people.ts'
import { type SpawnedGrove, spawnGrove, untilReady } from '../support/spawned-grove.ts'

const PUBLIC_URL = 'https://grove.example'

/** Everything that reads a node in another way. */
export async function readNode(person: Client, { at }: TestNode) {
  const paths = [
    '',
    '/branches',
    '/tree/main/commits',
    '/tree/main',
    '/tree/main/files/content.md',
    '/pull-requests?status=all',
  ]
  return Promise.all(paths.map((path) => person.get(at + path)))
}

/** Before `meanwhile` it runs in this process. */
export let grove: { readonly url: string; readonly dataDir: string }

/** The service that found the damage. */
let next: SpawnedGrove | undefined

let stop: () => Promise<void>

export let ann: PersonClient

export let node: TestNode

export let neighbour: TestNode

/** Stops the service, does it, and starts the next, which knows nothing but what lies on the disk. */
export async function meanwhile(
  work: () => Promise<unknown>,
  environment: Record<string, string> = {},
): Promise<PatientClient> {
  await stop()
  await work()
  next = await spawnGrove(grove.dataDir, { PUBLIC_URL, ...environment })
  grove = next
  await untilReady(grove)
  return client(grove, ann.session.accessToken)
}

export function objectFile(oid: string): string {
  return looseFile(node.git, oid)
}

/** The lines of the log that say so. */
export function said(what: string): Record<string, unknown>[] {
  // What follows the last end of a line has not arrived whole.
  const lines = (next?.output().stderr ?? '').split('\n').slice(0, -1)
  const entries = lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line))
  return entries.filter(({ msg }) => String(msg).includes(what))
}

/** A service of its own for each test. */
export function useScene(): void {
  beforeEach(async () => {
    const first = await startGrove({ dataDir: await newDataDir(), publicUrl: PUBLIC_URL })
    grove = first
    stop = first.close
    ann = await signUp(grove, 'Ann')
    node = await newNode(grove, ann, { text_content: 'A song of the deep sea' })
    neighbour = await newNode(grove, ann, { text_content: 'A calf' })
    for (const git of [node.git, gitIn(grove, ann.org, 'org')]) git.loosen()
  })
  afterEach(async () => {
    await next?.kill()
    next = undefined
    await rm(grove.dataDir, { recursive: true, force: true })
  })
}
