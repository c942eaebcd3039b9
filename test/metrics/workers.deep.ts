/** A scrape of several workers. */

import { readdir, readFile, rm } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { expect } from 'chai'
import { newDataDir } from '../support/data-folder.ts'
import { metricsToken, parseScrape, type Scrape, sumOf } from '../support/scrapes.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'
import { until } from '../support/until.ts'

describe('metrics of workers', () => {
  let dataDir: string
  let grove: SpawnedGrove
  /** Of one connection, and so of one worker. */
  let agent: Agent

  beforeEach(async () => {
    dataDir = await newDataDir()
    grove = await spawnGrove(dataDir, { WORKERS: '2', METRICS_TOKEN: metricsToken, LOG_LEVEL: 'silent' })
    agent = new Agent({ keepAlive: true, maxSockets: 1 })
  })
  afterEach(async () => {
    agent.destroy()
    await grove.stop()
    await rm(dataDir, { recursive: true, force: true })
  })

  const scrape = (): Promise<Scrape> =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${metricsToken}` }
      request(`${grove.url}/metrics`, { agent, headers }, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk
        })
        response.on('end', () => resolve(parseScrape(text)))
      })
        .on('error', reject)
        .end()
    })
  /** A worker that has just started may be too late for the first scrape. */
  const wholeScrape = async (): Promise<Scrape> => {
    let scraped: Scrape = new Map()
    await until(async () => {
      scraped = await scrape()
      return workersIn(scraped).join() === '1,2'
    })
    return scraped
  }
  it('count from the start of each worker, also if the first scrape is later', async () => {
    const scraped = await wholeScrape()
    for (const { value } of scraped.get('nodejs_eventloop_lag_min_seconds') ?? []) expect(value).to.be.below(1_000)
    expect(sumOf(scraped, 'process_cpu_seconds_total')).to.be.above(0.01)
  })

  const workersIn = (scraped: Scrape): string[] => {
    const samples = [...scraped.values()].flat()
    return [...new Set(samples.map(({ labels }) => labels.worker ?? 'none'))].sort()
  }
  /** The worker that answers: it has a request in flight. */
  const answering = (scraped: Scrape): string =>
    ['1', '2'].find((worker) => sumOf(scraped, 'grove_http_requests_in_flight', { worker }) === 1) ?? 'none'

  it('has the series of each, under its number, whichever is asked', async () => {
    const scraped = await wholeScrape()
    for (const worker of ['1', '2']) expect(sumOf(scraped, 'process_open_fds', { worker }), worker).to.be.greaterThan(0)
    expect(scraped.get('grove_storage_free_bytes')?.map(({ labels }) => labels.worker)).to.deep.equal(['1'])
  })

  it('has the series of the others while one does not answer, and of both when it does again', async () => {
    const me = answering(await wholeScrape())
    const other = me === '1' ? '2' : '1'
    const pid = await pidOf(grove, other)
    process.kill(pid, 'SIGSTOP')
    try {
      expect(workersIn(await scrape())).to.deep.equal([me])
    } finally {
      process.kill(pid, 'SIGCONT')
    }
    await wholeScrape()
  })

  it('continues when a worker is killed; the next one has its number', async () => {
    const me = answering(await wholeScrape())
    const other = me === '1' ? '2' : '1'
    const pid = await pidOf(grove, other)
    process.kill(pid, 'SIGKILL')
    expect(workersIn(await scrape())).to.include(me)
    await wholeScrape()
    expect(await pidOf(grove, other)).to.not.equal(pid)
  })
})

/** The process that runs as this worker. */
async function pidOf({ pid }: SpawnedGrove, worker: string): Promise<number> {
  for (const name of (await readdir('/proc')).filter((one) => /^\d+$/.test(one))) {
    const status = await readFile(`/proc/${name}/status`, 'utf8').catch(() => '')
    if (!status.includes(`PPid:\t${pid}\n`)) continue
    const environment = await readFile(`/proc/${name}/environ`, 'utf8').catch(() => '')
    if (environment.split('\0').includes(`GROVE_WORKER=${worker}`)) return Number(name)
  }
  throw new Error(`worker ${worker} does not run`)
}
