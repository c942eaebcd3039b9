/** Machines with a network of their own, one link of which can be cut: network namespaces, for root. */

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { endAfterFile, endsWithParent } from '../support/processes.ts'
import { type Relay, relayTo } from '../support/relay.ts'

const run = promisify(execFile)

export interface Machine {
  /** The prefix of a command that is to run there. */
  readonly through: readonly string[]
  /** Of its own: the link to it is never cut. */
  readonly address: string
  /** The database, by the link that is cut. */
  readonly database: string
  /** Drops the packets of both directions; connections get no error. */
  cut(): Promise<void>
  restore(): Promise<void>
  /** Removes the machine. Every process there must have ended. */
  remove(): Promise<void>
}

let links = 0

/** @param database on this machine's loopback @throws Error that says why this machine cannot have one */
export async function makeMachine(database: string): Promise<Machine> {
  if (process.getuid?.() !== 0) throw new Error('only root may make a network namespace')
  // It keeps the namespace, which goes with it, and the links with that.
  const keeping = [...endsWithParent, '-e', 'console.log("kept"); setInterval(() => {}, 1_000_000)']
  const keeper = endAfterFile(spawn('unshare', ['--net', '--', process.execPath, ...keeping], { stdio: 'pipe' }))
  let relay: Relay | undefined
  const remove = async () => {
    relay?.close()
    await ended(keeper)
  }
  try {
    await Promise.race([once(keeper.stdout, 'data'), failed(keeper)])
    const through = ['nsenter', `--net=/proc/${keeper.pid}/ns/net`, '--']
    const [nsenter = '', ...words] = through
    await run(nsenter, [...words, 'ip', 'link', 'set', 'lo', 'up'])
    const [door, cable] = [await link(keeper, through), await link(keeper, through)]
    relay = await relayTo(database, { address: cable.near })
    const set = async (state: 'up' | 'down') => void (await run('ip', ['link', 'set', cable.name, state]))
    return {
      through,
      address: door.far,
      database: relay.url,
      cut: () => set('down'),
      restore: () => set('up'),
      remove,
    }
  } catch (error) {
    await remove()
    throw error
  }
}

/** Two network devices that face each other: `near` is this machine's address, `far` the other's. */
async function link({ pid }: ChildProcess, through: readonly string[]) {
  const name = `gr${process.pid.toString(36)}x${links}`
  // Of the addresses for benchmarks, RFC 2544: a block of four for each link.
  const block = ((process.pid * 8 + links++) % 32_768) * 4
  const address = (n: number) => [198, 18 + (block >> 16), (block >> 8) & 255, (block & 255) + n].join('.')
  const [near, far] = [address(1), address(2)]
  const [nsenter = '', ...words] = through
  await run('ip', ['link', 'add', name, 'type', 'veth', 'peer', 'name', name, 'netns', String(pid)])
  for (const [program, before, own] of [
    ['ip', [], near],
    [nsenter, [...words, 'ip'], far],
  ] as const) {
    await run(program, [...before, 'address', 'add', `${own}/30`, 'dev', name])
    await run(program, [...before, 'link', 'set', name, 'up'])
  }
  return { name, near, far }
}

async function failed(keeper: ChildProcess): Promise<never> {
  let said = ''
  keeper.stderr?.on('data', (chunk) => {
    said += chunk
  })
  await once(keeper, 'exit')
  throw new Error(`no network namespace: ${said.trim()}`)
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}
