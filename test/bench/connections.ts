/** Measures requests of a connected program, next to those of a personal token in one run. */

import { connectProgram, renew } from '../support/connector.ts'
import { expecting } from '../support/node.ts'
import { client } from '../support/people.ts'
import { databaseFor, ownServer } from '../support/postgres.ts'
import { connectTo } from './load.ts'
import { interleave, measure } from './measure.ts'
import type { Report } from './report.ts'
import { openScene, type Scene } from './scene.ts'

const reads = 2_000
const writes = 200
const renewals = 200

export async function benchConnections(report: Report): Promise<void> {
  await benchEngine(report, 'credentials.sqlite', {})
  const server = await ownServer().catch((error: unknown) => String(error))
  if (typeof server === 'string') {
    report.say(`missing: PostgreSQL, so connections in it are not measured (${server})`)
    return
  }
  try {
    await benchEngine(report, 'PostgreSQL', { DATABASE_URL: await databaseFor('bench', server) })
  } finally {
    await server.stop('immediate')
  }
}

async function benchEngine(report: Report, engine: string, environment: Record<string, string>): Promise<void> {
  const scene = await openScene(1, environment)
  try {
    const token = await newToken(scene)
    await compareReads(report, engine, scene, token)
    await compareCommits(report, engine, scene, token)
    await measureRenewals(report, engine, scene)
  } finally {
    await scene.close()
  }
}

async function newToken({ ann }: Scene): Promise<string> {
  const { body } = await ann.post('/auth/tokens', { name: 'bench', access: 'write' }).then(expecting(201))
  return body.token
}

async function compareReads(report: Report, engine: string, scene: Scene, token: string): Promise<void> {
  const { at } = await scene.node()
  const connected = await connectProgram(scene.grove, scene.ann, { access: 'read' })
  const sides = ([token, connected.token] as const).map((bearer) =>
    connectTo(scene.grove.url, { authorization: `Bearer ${bearer}` }),
  )
  const [byToken, byConnection] = await interleave(
    reads,
    sides.map((side, n) => [n === 0 ? 'personal token' : 'connection', () => side.get(at)] as const),
  )
  for (const side of sides) side.close()
  compare(report, `GET of a node, ${engine}`, byToken, byConnection)
}

async function compareCommits(report: Report, engine: string, scene: Scene, token: string): Promise<void> {
  const node = await scene.node()
  const connected = await connectProgram(scene.grove, scene.ann, { access: 'write' })
  let count = 0
  const committing = (bearer: string) => () => {
    const changes = [{ action: 'put', path: 'page.md', content: `Words ${count++}` }]
    return client(scene.grove, bearer)
      .post(`${node.at}/tree/main/commits`, { message: 'Edit', changes })
      .then(expecting(201))
  }
  const [byToken, byConnection] = await interleave(writes, [
    ['personal token', committing(token)],
    ['connection, with a trailer', committing(connected.token)],
  ])
  compare(report, `a commit, ${engine}`, byToken, byConnection)
}

async function measureRenewals(report: Report, engine: string, scene: Scene): Promise<void> {
  let { program, refreshToken } = await connectProgram(scene.grove, scene.ann)
  const row = await measure('renewal', renewals, async () => {
    const { body } = await renew(program, refreshToken).then(expecting(200))
    refreshToken = body.refresh_token
  })
  report.rows(`a renewal, ${engine}`, 'ms', [row])
}

type Rows = Awaited<ReturnType<typeof interleave>>

function compare(report: Report, what: string, byToken: Rows[number] | undefined, by: Rows[number] | undefined): void {
  if (byToken === undefined || by === undefined) return
  report.rows(what, 'ms', [byToken, by])
  report.ratio({ what, unit: 'ms', grove: by.p50, peer: 'personal token', of: byToken.p50 })
}
