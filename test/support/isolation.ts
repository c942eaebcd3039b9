/** Compares what a test file leaves in its process with what it found. Files must not depend on their order. */

import { setImmediate } from 'node:timers/promises'

/** Functions that tests replace. */
const replaceable = {
  fetch: () => globalThis.fetch,
  setTimeout: () => globalThis.setTimeout,
  setInterval: () => globalThis.setInterval,
  setImmediate: () => globalThis.setImmediate,
  'Date.now': () => Date.now,
  Date: () => Date,
  'Math.random': () => Math.random,
  'performance.now': () => performance.now,
  'process.exit': () => process.exit,
  'process.kill': () => process.kill,
  'process.stdout.write': () => process.stdout.write,
  'process.stderr.write': () => process.stderr.write,
  'console.log': () => console.log,
  'console.error': () => console.error,
} as const

/** Events whose listeners a file must remove. Modules that load later add their own to `exit`. */
const heard = [
  'SIGTERM',
  'SIGINT',
  'SIGHUP',
  'uncaughtException',
  'unhandledRejection',
  'warning',
  'message',
  'disconnect',
]

interface Snapshot {
  readonly folder: string
  readonly environment: Readonly<NodeJS.ProcessEnv>
  readonly functions: ReadonlyMap<string, unknown>
  readonly listeners: ReadonlyMap<string, number>
  /** How many servers listen on a port. */
  readonly servers: number
}

function snapshot(): Snapshot {
  return {
    folder: process.cwd(),
    environment: { ...process.env },
    functions: new Map(Object.entries(replaceable).map(([name, read]) => [name, read()])),
    listeners: new Map(heard.map((name) => [name, process.listenerCount(name)])),
    servers: process.getActiveResourcesInfo().filter((one) => one === 'TCPServerWrap').length,
  }
}

function differences(before: Snapshot, after: Snapshot): string[] {
  const names = new Set([...Object.keys(before.environment), ...Object.keys(after.environment)])
  const variables = [...names].filter((name) => before.environment[name] !== after.environment[name])
  const functions = [...after.functions].filter(([name, value]) => before.functions.get(name) !== value)
  const listeners = [...after.listeners].filter(([name, count]) => count > (before.listeners.get(name) ?? 0))
  return [
    ...(before.folder === after.folder ? [] : ['the working folder']),
    ...variables.map((name) => `the environment variable ${name}`),
    ...functions.map(([name]) => `another ${name}`),
    ...(after.servers > before.servers ? [`${after.servers - before.servers} servers that listen`] : []),
    ...listeners.map(([name, count]) => `${count - (before.listeners.get(name) ?? 0)} listeners of ${name}`),
  ]
}

let known: Snapshot | undefined

/** Looks before the first file. Called in a hook, because mocha has its own listeners in hooks. */
export function lookBefore(): void {
  known ??= snapshot()
}

/**
 * Fails the file if it has left something. The next file begins from what is there.
 *
 * @throws Error that names what was left
 */
export async function expectNothingLeft(): Promise<void> {
  // A server that has closed is gone in the next turn of the event loop.
  await setImmediate()
  await setImmediate()
  const now = snapshot()
  const left = differences(known ?? now, now)
  known = now
  if (left.length > 0) throw new Error(`The file leaves in its process: ${left.join(', ')}.`)
}
