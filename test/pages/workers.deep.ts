/** The session of a browser where several workers answer. */

import { rm } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { expect } from 'chai'
import { newDataDir } from '../support/data-folder.ts'
import { password, signUp } from '../support/people.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'

/** Connections, which are dealt to the workers in turn. */
const connections = 4

describe('the session of a browser, with two workers', () => {
  let dataDir: string
  let grove: SpawnedGrove
  const agents = Array.from({ length: connections }, () => new Agent({ keepAlive: true, maxSockets: 1 }))

  before(async () => {
    dataDir = await newDataDir()
    grove = await spawnGrove(dataDir, { WORKERS: '2', LOG_LEVEL: 'silent' })
  })
  after(async () => {
    for (const agent of agents) agent.destroy()
    await grove.stop()
    await rm(dataDir, { recursive: true, force: true })
  })

  const send = (agent: Agent | undefined, path: string, cookie: string, fields?: Record<string, string>) =>
    new Promise<{ status: number; cookie: string }>((resolve, reject) => {
      const form = fields && new URLSearchParams(fields).toString()
      const headers = {
        ...{ cookie, 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'navigate' },
        ...(form !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
      }
      const method = form === undefined ? 'GET' : 'POST'
      request(grove.url + path, { method, headers, ...(agent && { agent }) }, (answer) => {
        const [set = ''] = answer.headers['set-cookie'] ?? []
        answer.resume().on('end', () => resolve({ status: answer.statusCode ?? 0, cookie: set.split(';')[0] ?? '' }))
      })
        .on('error', reject)
        .end(form)
    })

  it('ends in all of them with the next request when one signs it out', async () => {
    const ann = await signUp(grove, 'Ann')
    const { cookie } = await send(agents[0], '/sign-in', '', { email: ann.user.email, password })
    const statuses = async () => {
      const all = []
      for (const agent of agents) all.push((await send(agent, '/me/tokens', cookie)).status)
      return all
    }
    expect(await statuses()).to.deep.equal(agents.map(() => 200))
    expect((await send(agents[0], '/sign-out', cookie, {})).status).to.equal(303)
    expect(await statuses()).to.deep.equal(agents.map(() => 401))
  })
})
