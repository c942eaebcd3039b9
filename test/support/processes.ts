/**
 * Ends child processes with the test file that started them. They also end with the process that runs it, even if that
 * is killed.
 */

import { type ChildProcess, type ChildProcessWithoutNullStreams, type SpawnOptions, spawn } from 'node:child_process'
import { shared } from './shared.ts'

/** Arguments for `node`. Its standard input must be a pipe without data. */
export const endsWithParent = ['--require', new URL('ends-with-parent.cjs', import.meta.url).pathname] as const

/** Precedes a script of bash that leads a process group. It kills the group when standard input closes. */
const endsGroupWithParent = `exec 3<&0 < /dev/null
{ read -r _ <&3; kill -KILL 0; } > /dev/null 2>&1 &
watch=$!
exec 3<&-
trap 'kill $watch' EXIT
`

/** Starts bash with the script. It and all processes that it starts end with this process at the latest. */
export function startShell(script: string, options: Pick<SpawnOptions, 'cwd' | 'env'>): ChildProcessWithoutNullStreams {
  const words = ['-c', `${endsGroupWithParent}${script}`]
  return endAfterFile(spawn('bash', words, { ...options, stdio: 'pipe', detached: true }))
}

const living = shared('children', () => new Set<ChildProcess>())

/** Kills the child at the end of the file, unless it has ended. */
export function endAfterFile<C extends ChildProcess>(child: C): C {
  living.add(child)
  child.once('exit', () => living.delete(child))
  return child
}

/** Services in this process, which must be closed. Each is closed once. */
const open = shared('services', () => new Set<() => Promise<void>>())

/** Returns a function that closes. It is called at the end of the file, unless the test has called it. */
export function closeAfterFile(close: () => Promise<void>): () => Promise<void> {
  const once = () => {
    open.delete(once)
    return close()
  }
  open.add(once)
  return once
}

/** Ends all processes and services. Mocha calls it after each test file: run.ts. */
export async function endAll(): Promise<void> {
  for (const child of living) child.kill('SIGKILL')
  await Promise.all([...open].map((close) => close().catch(() => undefined)))
}
