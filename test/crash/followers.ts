/** Processes that follow the events of a storm: two readers and a receiver of webhooks, each killed at any moment. */

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expecting } from '../support/node.ts'
import { type Client, client, signUp } from '../support/people.ts'
import { endAfterFile, endsWithParent } from '../support/processes.ts'
import { freePort } from '../support/servers.ts'
import type { Doors as Places } from './clients.ts'
import type { Doors } from './event-reader.ts'
import type { World } from './world.ts'

/** The settings with which services send webhooks to this machine. */
export const followersEnvironment = { FETCH_ALLOW: '127.0.0.1', WEBHOOK_HTTP: 'on' }

export interface Followers {
  /** Where they write what they saw. */
  readonly folder: string
  /** The cursor where all of them began. */
  readonly start: string
  readonly kills: { readonly readers: number; readonly receiver: number }
  /** The path of the webhook. */
  readonly hook: string
  /** An owner who writes nothing, at a process that lives. */
  owner(): Client
  /** From now on nothing kills or fails. */
  heal(): Promise<void>
  /** Faults of the processes themselves. */
  problems(): string[]
  end(): Promise<void>
}

/** One of so many messages fails. */
const failures = 10
/** Milliseconds between two ends of the pause after a failure. By its own schedule it is 5 seconds, then 5 minutes. */
const impatienceMs = 500
const doorsMs = 50

interface Options {
  readonly random: () => number
  /** The owner of the organisation. */
  readonly token: string
  /** Of `Doors`. */
  readonly tolerated?: readonly number[]
}

export async function startFollowers(
  world: World,
  places: Places,
  { random, token, tolerated = [503] }: Options,
): Promise<Followers> {
  const [door] = places()
  if (!door) throw new Error('No process lives')
  const owner = await signUp(door, `Owner ${world.next()}`)
  const role = { role: 'owner' }
  await client(door, token).put(`/orgs/${world.org}/members/${owner.user.email}`, role).then(expecting(200))
  const own = await owner.post('/auth/tokens', { name: 'Followers', access: 'write' }).then(expecting(201))
  const asOwner = () => client(places()[0] ?? door, own.body.token)
  const folder = await mkdtemp(join(tmpdir(), 'grove-followers-'))
  const start = (await asOwner().get(`/orgs/${world.org}/events?after=now`).then(expecting(200))).body.next
  const port = await freePort()
  const hooks = `/orgs/${world.org}/webhooks`
  const url = `http://127.0.0.1:${port}/`
  const { id, secret } = (await asOwner().post(hooks, { url }).then(expecting(201))).body
  for (const kind of ['pages', 'stream'])
    await writeFile(join(folder, `${kind}.seen`), `{"cursor":"${start}","events":[]}\n`)
  const doors = () => ({ urls: places().map((one) => one.url), org: world.org, token: own.body.token, tolerated })
  await writeDoors(folder, doors())
  let living = true
  const every = async (ms: number, work: () => Promise<unknown>) => {
    while (living) {
      await work()
      await sleep(ms)
    }
  }
  const writing = every(doorsMs, () => writeDoors(folder, doors()))
  let isHealed = false
  const unpause = async () => {
    // A service that is gone, or whose disk is, is asked again.
    if (places().length > 0 && !isHealed)
      await asOwner()
        .patch(`${hooks}/${id}`, { active: true })
        .catch(() => undefined)
  }
  const pushing = every(impatienceMs, unpause)
  const readers = ['pages', 'stream'].map((kind) => startMortal('event-reader.ts', () => [kind, folder], random))
  const words = () => [folder, String(port), secret, String(isHealed ? 0 : failures)]
  const receiver = startMortal('hook-receiver.ts', words, random)
  const all = [...readers, receiver]
  return {
    folder,
    start,
    hook: `${hooks}/${id}`,
    kills: {
      get readers() {
        return readers.reduce((sum, { kills }) => sum + kills(), 0)
      },
      get receiver() {
        return receiver.kills()
      },
    },
    owner: asOwner,
    heal: async () => {
      isHealed = true
      await Promise.all(all.map((one) => one.spare()))
    },
    problems: () => all.flatMap((one) => one.problems()),
    end: async () => {
      living = false
      await Promise.all([writing, pushing, ...all.map((one) => one.end())])
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function writeDoors(folder: string, doors: Doors): Promise<void> {
  const file = join(folder, 'doors.json')
  await writeFile(`${file}.next`, JSON.stringify(doors))
  await rename(`${file}.next`, file)
}

interface Mortal {
  kills(): number
  /** Starts it once more, and kills it no more. */
  spare(): Promise<void>
  end(): Promise<void>
  problems(): string[]
}

/** Milliseconds that a process lives, and that it is away, at most. */
const [life, absence] = [3_000, 800]

/** Starts a script of this folder, and kills it again and again. */
function startMortal(script: string, words: () => readonly string[], random: () => number): Mortal {
  const problems: string[] = []
  const waiting = new AbortController()
  const pause = (ms: number) => sleep(ms * random(), undefined, { signal: waiting.signal }).catch(() => undefined)
  let kills = 0
  let child = startScript(script, words(), problems)
  const kill = async () => {
    child.kill('SIGKILL')
    await child.exited
  }
  const killing = (async () => {
    while (!waiting.signal.aborted) {
      await child.working
      await pause(life)
      await kill()
      kills++
      await pause(absence)
      child = startScript(script, words(), problems)
    }
  })()
  return {
    kills: () => kills,
    spare: async () => {
      waiting.abort()
      await killing
    },
    end: async () => {
      waiting.abort()
      await killing
      await kill()
    },
    problems: () => problems,
  }
}

function startScript(script: string, words: readonly string[], problems: string[]) {
  const path = new URL(script, import.meta.url).pathname
  const child: ChildProcess = spawn(process.execPath, [...endsWithParent, '--import', 'tsx', path, ...words], {
    stdio: 'pipe',
  })
  endAfterFile(child)
  let said = ''
  child.stderr?.on('data', (chunk) => {
    said += chunk
  })
  const exited = new Promise<void>((resolve) => {
    child.once('exit', (code, signal) => {
      if (signal !== 'SIGKILL') problems.push(`${script} ended with ${code ?? signal}: ${said}`)
      resolve()
    })
  })
  // It says so once it works: starting takes seconds on a busy machine.
  const working = Promise.race([new Promise<void>((resolve) => child.stdout?.once('data', () => resolve())), exited])
  return { exited, working, kill: (signal: NodeJS.Signals) => child.kill(signal) }
}
