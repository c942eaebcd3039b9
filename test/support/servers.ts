/**
 * Starts servers of other programs for a run of tests. Each ends with the run, even if that is killed, and its files
 * are removed.
 */
import { execFile, spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { basename } from 'node:path'
import { promisify } from 'node:util'

/**
 * Starts a program that ends with the run, whose process may be killed. `files` are removed then. Resolves when the
 * program has ended. Its output is in `log`. SIGQUIT is for programs that must end their own processes. Other programs
 * ignore it in the background of a shell.
 */
export function startBesideRun(
  words: readonly string[],
  log: string,
  files: readonly string[],
  signal: 'QUIT' | 'KILL',
): Promise<void> {
  const quoted = (parts: readonly string[]) => parts.map((word) => `'${word}'`).join(' ')
  const script = `${quoted(words)} > '${log}' 2>&1 & server=$!
tail --pid=${runProcess()} -f /dev/null & watch=$!
wait -n $server $watch
kill -${signal} $server $watch 2> /dev/null; wait $server; kill -0 ${runProcess()} 2> /dev/null || rm -rf ${quoted(files)}`
  const shell = spawn('bash', ['-c', script], { stdio: 'ignore', detached: true, cwd: '/' })
  shell.unref()
  return new Promise((done) => shell.once('exit', () => done()))
}

/**
 * The user of Debian's PostgreSQL package. PostgreSQL refuses to run as root. Undefined if this process is not root.
 */
export async function unprivileged(): Promise<{ readonly uid: number; readonly gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const idOf = async (kind: string) => Number((await promisify(execFile)('id', [kind, 'postgres'])).stdout)
  return { uid: await idOf('-u'), gid: await idOf('-g') }
}

export function freePort(): Promise<number> {
  return new Promise((done, failed) => {
    const server = createServer()
    server.once('error', failed)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      const port = typeof address === 'object' && address !== null ? address.port : 0
      server.close(() => done(port))
    })
  })
}

export function runFolder(): string {
  return process.env.GROVE_RUN_FOLDER ?? tmpdir()
}

/** The process of the run. Its number is in the name of the run's folder: run.ts. */
function runProcess(): number {
  return Number(/\d+$/.exec(basename(runFolder()))?.[0] ?? process.pid)
}
