/**
 * PostgreSQL for tests. The first test that needs it starts one server for the run, with a database for each data
 * folder. Tests that stop a server have their own. The servers are in the run's folder and end with the run, even if it
 * is killed.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { chmod, chown, copyFile, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { pooled } from './pgbouncer.ts'
import { freePort, runFolder, startBesideRun, unprivileged } from './servers.ts'
import { until } from './until.ts'

const run = promisify(execFile)

/** The folder of Debian's programs. The newest version is used. */
const debian = '/usr/lib/postgresql'

function programs(): string | undefined {
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : []
  const folders = [
    ...versions.map((version) => join(debian, version, 'bin')),
    ...(process.env.PATH ?? '').split(delimiter),
  ]
  return folders.find((folder) => existsSync(join(folder, 'initdb')))
}

export interface PostgresServer {
  /** The path of its certificate, if it has one. */
  readonly certificate: string
  /** The URL of the database `postgres`, as a superuser. */
  readonly url: string
  /** Stops the server, and resolves when it has ended. `immediate` is like a crash. */
  stop(mode: 'fast' | 'immediate'): Promise<void>
  start(): Promise<void>
  /** Removes a server that has ended. Otherwise its files are removed with the run's folder, which only mocha has. */
  remove(): Promise<void>
}

/**
 * The URL of the run's server. The first call of all processes starts it. If GROVE_TEST_DATABASE_URL is
 * `start-pgbouncer`, it is the URL of PgBouncer in front of it.
 */
async function sharedServer(): Promise<string> {
  const given = process.env.GROVE_TEST_DATABASE_URL
  if (given?.startsWith('postgres')) return given
  const folder = join(runFolder(), 'postgres')
  const said = join(folder, 'url')
  try {
    await mkdir(folder)
  } catch {
    await until(() => existsSync(said))
    return readFile(said, 'utf8')
  }
  const server = await newServer('shared')
  const url = given === 'start-pgbouncer' ? await pooled(server.url) : server.url
  await writeFile(`${said}.new`, url)
  await rename(`${said}.new`, said)
  return url
}

/** Starts a server that no other test uses. With `tls`, it has a certificate for localhost. Takes a second. */
export function ownServer({ tls = false } = {}): Promise<PostgresServer> {
  return newServer(`own-${process.pid}-${Date.now()}`, tls)
}

/**
 * Creates an empty database and returns its URL. Its name follows from `key`; the same key returns the same database.
 */
export async function databaseFor(key: string, server?: PostgresServer): Promise<string> {
  const name = `grove_${createHash('sha256').update(key).digest('hex').slice(0, 16)}`
  const url = server?.url ?? (await sharedServer())
  const admin = new pg.Client({ connectionString: url })
  await admin.connect()
  try {
    await admin.query(`create database ${name}`)
  } catch (error) {
    const code = error instanceof pg.DatabaseError ? error.code : undefined
    if (code !== '42P04' && code !== '23505') throw error
  } finally {
    await admin.end()
  }
  const own = new URL(url)
  own.pathname = `/${name}`
  return own.href
}

/** The environment for services and commands over that data folder. It is empty unless the run uses PostgreSQL. */
export async function databaseEnvironment(dataDir: string): Promise<Record<string, string>> {
  if (process.env.GROVE_TEST_DATABASE_URL === undefined) return {}
  return { DATABASE_URL: await databaseFor(dataDir) }
}

async function newServer(name: string, tls = false): Promise<PostgresServer> {
  const folder = programs()
  if (folder === undefined) throw new Error('PostgreSQL is missing: apt-get install postgresql')
  const data = join(runFolder(), `postgres-${name}`)
  await mkdir(data)
  await chmod(data, 0o700)
  // PostgreSQL refuses to run as root.
  const as = await unprivileged()
  if (as !== undefined) await chown(data, as.uid, as.gid)
  // In some containers only root may write to /dev/null, as initdb does.
  const capability = ['--inh-caps=+dac_override', '--ambient-caps=+dac_override']
  const user = as && [`--reuid=${as.uid}`, `--regid=${as.gid}`, '--clear-groups', ...capability, '--']
  const words = user === undefined ? [] : ['setpriv', ...user]
  const call = [...words, join(folder, 'initdb')]
  const settings = ['-U', 'grove', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '--locale-provider=icu']
  const [program = '', ...rest] = [
    ...call,
    '-D',
    data,
    ...settings,
    '--icu-locale=de',
    '--no-sync',
    '--no-instructions',
  ]
  await run(program, rest, { cwd: '/' })
  const certificate = `${data}.pem`
  if (tls) await makeCertificate(data, certificate, as)
  const port = await freePort()
  const url = `postgres://grove@127.0.0.1:${port}/postgres`
  const options = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    fsync: 'off',
    max_connections: 100,
    shared_buffers: '16MB',
    autovacuum: 'off',
    wal_level: 'minimal',
    max_wal_senders: 0,
    ssl: tls ? 'on' : 'off',
  }
  const args = Object.entries(options).flatMap(([key, value]) => ['-c', `${key}=${value}`])
  const service = [...words, join(folder, 'postgres'), '-D', data, ...args]
  let ended = Promise.resolve()
  const start = async () => {
    ended = startBesideRun(service, `${data}.log`, [data, `${data}.log`, certificate], 'QUIT')
    await until(() => answers(url))
  }
  await start()
  return {
    url,
    certificate,
    start,
    stop: async (mode) => {
      const [pid] = (await readFile(join(data, 'postmaster.pid'), 'utf8')).split('\n')
      process.kill(Number(pid), mode === 'fast' ? 'SIGINT' : 'SIGQUIT')
      // The shell does not keep this process alive.
      const awake = setInterval(() => {}, 1_000)
      await ended.finally(() => clearInterval(awake))
    },
    remove: async () => {
      for (const path of [data, `${data}.log`, certificate]) await rm(path, { recursive: true, force: true })
    },
  }
}

/** Writes the certificate where PostgreSQL reads it, and a copy for clients. */
async function makeCertificate(data: string, copy: string, owner: { uid: number; gid: number } | undefined) {
  const [key, file] = [join(data, 'server.key'), join(data, 'server.crt')]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  await run('openssl', ['req', '-x509', ...kind, ...subject, '-days', '30', '-keyout', key, '-out', file])
  await chmod(key, 0o600)
  await copyFile(file, copy)
  if (owner !== undefined) for (const path of [key, file]) await chown(path, owner.uid, owner.gid)
}

async function answers(url: string): Promise<boolean> {
  const asking = new pg.Client({ connectionString: url })
  return asking.connect().then(
    () => asking.end().then(() => true),
    () => false,
  )
}
