/** Connections of another cell, which carry requests of many clients, at a cell that may open few files. */

import { rm } from 'node:fs/promises'
import { expect } from 'chai'
import { newDataDir } from '../support/data-folder.ts'
import { finished, started } from '../support/half-sent.ts'
import { times } from '../support/many.ts'
import { signUp } from '../support/people.ts'
import { databaseFor } from '../support/postgres.ts'
import { freePort } from '../support/servers.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'

const files = 400
/** More requests at a time than one address has connections: an eighth of the files. */
const many = 80

describe('a cell that may open few files', () => {
  let here: SpawnedGrove
  let there: SpawnedGrove

  before(async () => {
    const key = await newDataDir()
    const DATABASE_URL = await databaseFor(key)
    const start = async (name: string, dataDir: string, through: readonly string[] = []) => {
      const port = String(await freePort())
      const own = { CELL: name, CELL_URL: `http://127.0.0.1:${port}`, PORT: port }
      return spawnGrove(dataDir, { DATABASE_URL, ...own }, through)
    }
    here = await start('here', key, ['prlimit', `--nofile=${files}:${files}`])
    there = await start('there', await newDataDir())
  })
  after(async () => {
    await here?.stop()
    await there?.stop()
    for (const { dataDir } of [here, there]) await rm(dataDir, { recursive: true })
  })

  it('answers all requests that another cell passes on at the same time', async () => {
    const ann = await signUp(here, 'Ann')
    const headers = { authorization: `Bearer ${ann.session.accessToken}`, 'transfer-encoding': 'chunked' }
    const path = `/orgs/${ann.org}/nodes`
    const half = '{"title":'
    const all = await times(many, () => started({ url: there.url, method: 'POST', path, half, headers }))
    const answers = await Promise.all(all.map((sent) => finished(sent, '')))
    expect(answers.map(({ status }) => status)).to.deep.equal(Array.from({ length: many }, () => 422))
  })
})
