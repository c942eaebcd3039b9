/** PgBouncer for tests, in transaction mode: each transaction may get another connection. */
import { existsSync } from 'node:fs'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort, runFolder, startBesideRun } from './servers.ts'
import { until } from './until.ts'

const program = '/usr/sbin/pgbouncer'

/**
 * Returns a URL for the same server through PgBouncer. It serves every database with two connections each. A service
 * therefore soon gets a session in which another service has left something. Ends with the run.
 */
export async function pooled(url: string): Promise<string> {
  if (!existsSync(program)) throw new Error('PgBouncer is missing: apt-get install pgbouncer')
  const { hostname, port, username } = new URL(url)
  const listen = await freePort()
  const folder = join(runFolder(), `pgbouncer-${listen}`)
  await mkdir(folder)
  const [file, users, log] = [join(folder, 'pgbouncer.ini'), join(folder, 'users'), join(folder, 'log')]
  await writeFile(users, `"${username}" ""\n`)
  // A run has more databases than its server has connections, so unused ones are closed soon.
  await writeFile(
    file,
    `[databases]
* = host=${hostname} port=${port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listen}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = transaction
default_pool_size = 2
server_idle_timeout = 2
max_client_conn = 1000
`,
  )
  await chmod(folder, 0o755)
  for (const path of [file, users]) await chmod(path, 0o644)
  // PgBouncer refuses to run as root.
  const user = process.getuid?.() === 0 ? ['-u', 'postgres'] : []
  let hasEnded = false
  void startBesideRun([program, ...user, file], log, [folder], 'KILL').then(() => {
    hasEnded = true
  })
  const said = () => readFile(log, 'utf8').catch(() => '')
  await until(async () => hasEnded || /process up/.test(await said()))
  if (hasEnded) throw new Error(`PgBouncer ended: ${await said()}`)
  const own = new URL(url)
  own.host = `127.0.0.1:${listen}`
  return own.href
}
