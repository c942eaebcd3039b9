/** A clean clone of this repository. */

import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { endAfterFile, endsWithParent } from '../support/processes.ts'

export const run = promisify(execFile)

/** The tour speaks of jq: the machine's, or one that is there on every machine and takes longer. */
export const jq = installed('jq') ?? resolve('test/support/jq.js')

interface Started {
  readonly url: string
  stop(): Promise<void>
}

/** Where a program lies that the shell finds. */
function installed(program: string): string | undefined {
  const { status, stdout } = spawnSync('sh', ['-c', 'command -v "$0"', program], { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}

/** The files that a clone would have, the packages that `npm ci` would install. */
export async function freshClone(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'grove-tour-'))
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'])
  for (const file of listed
    .toString()
    .split('\0')
    .filter((name) => name !== '' && existsSync(name)))
    await cp(file, join(folder, file))
  await symlink(resolve('node_modules'), join(folder, 'node_modules'))
  await mkdir(join(folder, 'bin'), { recursive: true })
  await symlink(jq, join(folder, 'bin/jq'))
  return folder
}

/** One that has been built: what a fresh clone builds by itself is for the tests of the READMEs. */
export async function builtClone(): Promise<string> {
  const folder = await freshClone()
  await cp('dist', join(folder, 'dist'), { recursive: true })
  return folder
}

/** `npm start` in `folder`, on any free port, with the rate limits on. */
async function npmStart(folder: string): Promise<Started> {
  const child = endAfterFile(
    spawn('npm', ['start'], {
      cwd: folder,
      env: { ...environment(), PORT: '0', LOG_LEVEL: 'error', NODE_OPTIONS: endsWithParent.join(' ') },
      stdio: 'pipe',
      detached: true,
    }),
  )
  const ended = new Promise<void>((done) => child.once('exit', () => done()))
  let said = ''
  const url = new Promise<string>((found, failed) => {
    child.stderr.on('data', (chunk) => {
      said += chunk
    })
    child.stdout.on('data', (chunk) => {
      said += chunk
      const url = /listening on (http:\/\/\S+)\n/.exec(said)?.[1]
      if (url !== undefined) found(url)
    })
    child.once('exit', () => failed(new Error(`npm start ended before it listened:\n${said}`)))
  })
  const stop = async () => {
    // The whole group: npm, its shell and the service.
    if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGTERM')
    await ended
  }
  return { url: await url, stop }
}

/** Without what this process or its user has set for Grove, npm and git: a stranger's shell. */
export function environment(): Record<string, string> {
  const { PATH = '', HOME = '' } = process.env
  return { PATH, HOME, LC_ALL: 'C', GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' }
}

export let clone: string

export let service: Started

/** The same service once more, over what it left. */
export async function startAgain(): Promise<void> {
  service = await npmStart(clone)
}

/** The clone is gone afterwards. */
export function useClone(): void {
  before(async () => {
    clone = await freshClone()
    service = await npmStart(clone)
  })
  after(async () => {
    await service.stop()
    await rm(clone, { recursive: true, force: true })
  })
}
