/**
 * Measures the CPU time of a request with and without each shortcut of server/http/fast-path.ts. Run it with `node
 * --import tsx test/bench/fast-path.ts [ROUNDS]`. Every variant is a separate service. They are measured in turn.
 */

import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { send } from '../support/exchange.ts'
import { newNode } from '../support/node.ts'
import { client, password, signUp } from '../support/people.ts'
import * as plain from './plain-path.ts'
import { nanoseconds } from './processes.ts'

const rounds = Number(process.argv[2] ?? 3)
const requests = 3_000
const connections = 8

interface Variant {
  readonly name: string
  readonly url: string
  readonly pid: number
  /** Paths to read, by name. */
  readonly paths: Readonly<Record<string, string>>
  stop(): void
}

const folder = await mkdtemp(join(tmpdir(), 'grove-fast-path-'))
const variants: Variant[] = []
try {
  variants.push(await start('all shortcuts', []))
  for (const name of Object.keys(plain)) variants.push(await start(`without ${name}`, [name]))
  variants.push(await start('without any', Object.keys(plain)))
  // Unmeasured, so that V8 compiles the code.
  for (const variant of variants) for (const path of Object.values(variant.paths)) await ask(variant, path)
  for (const what of Object.keys(variants[0]?.paths ?? {})) {
    const costs = variants.map((): number[] => [])
    for (let round = 0; round < rounds; round++)
      for (const [at, variant] of variants.entries()) costs[at]?.push(await ask(variant, variant.paths[what] ?? ''))
    print(what, costs)
  }
} finally {
  for (const { stop } of variants) stop()
  await rm(folder, { recursive: true, force: true })
}

/** Prints the costs. The minimum counts, because other processes only add to the cost. */
function print(what: string, costs: readonly (readonly number[])[]): void {
  console.log(`\nGET ${what}: µs of CPU time in each round; the minimum compared with the minimum of all shortcuts`)
  const [least = 0, ...others] = costs.map((all) => Math.min(...all))
  for (const [at, { name }] of variants.entries()) {
    const more = (100 * ((others[at - 1] ?? least) - least)) / least
    const row = costs[at]?.map((one) => one.toFixed(0).padStart(5)).join(' ')
    console.log(`${name.padEnd(20)} ${row}  ${more.toFixed(0).padStart(4)} %`)
  }
}

/** Microseconds of the service's CPU time per request, over many requests. */
async function ask({ url, pid }: Variant, path: string): Promise<number> {
  const { body } = await client({ url }).post('/auth/login', { email: 'ann@example.org', password })
  const headers = { authorization: `Bearer ${body.accessToken}` }
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const before = await nanoseconds(pid)
  let left = requests
  const askOn = async () => {
    while (left-- > 0) {
      const { status } = await send(url + path, { headers }, agent)
      if (status !== 200) throw new Error(`${path} answered ${status}`)
    }
  }
  await Promise.all(Array.from({ length: connections }, askOn))
  agent.destroy()
  return ((await nanoseconds(pid)) - before) / requests / 1_000
}

async function start(name: string, swapped: readonly string[]): Promise<Variant> {
  const data = await mkdtemp(join(folder, 'data-'))
  const module = join(data, 'fast-path.ts')
  const own = new URL('../../server/http/fast-path.ts', import.meta.url)
  const other = new URL('./plain-path.ts', import.meta.url)
  await writeFile(
    module,
    `export * from '${own}'\n${swapped.length === 0 ? '' : `export { ${swapped.join(', ')} } from '${other}'`}\n`,
  )
  const flags = ['--max-old-space-size=2000', '--v8-pool-size=1', '--import', 'tsx', '--import']
  const program = ['--eval', "import('./server/process/main.ts').then(({ serve }) => serve())"]
  const child = spawn(process.execPath, [...flags, './test/bench/swapped.ts', ...program], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      ...{ PORT: '0', DATA_DIR: join(data, 'repos'), RATE_LIMIT: 'off', LOG_LEVEL: 'info' },
      GROVE_BENCH_SWAP: JSON.stringify({ '/server/http/fast-path.ts': pathToFileURL(module).href }),
    },
  })
  let log = ''
  child.stderr.on('data', (chunk) => {
    log = `${log}${chunk}`.slice(-2_000)
  })
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (chunk) => {
      const found = /listening on (http:\/\/\S+)\n/.exec(String(chunk))?.[1]
      if (found !== undefined) resolve(found)
    })
    child.once('exit', () => reject(new Error(`${name} ended:\n${log}`)))
  })
  const ann = await signUp({ url }, 'Ann')
  const node = await newNode({ dataDir: data }, ann)
  return {
    ...{ name, url, pid: child.pid ?? 0 },
    paths: { '/healthz': '/healthz', 'a node': node.at },
    stop: () => child.kill('SIGKILL'),
  }
}
