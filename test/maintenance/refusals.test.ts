/** Answers of a service in maintenance mode. */

import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { rights } from '../../spec/rights.ts'
import { connectHttp } from '../mcp/scene.ts'
import { visitOf } from '../pages/forms.ts'
import { type Attempt, table } from '../support/attempts.ts'
import { castFor, made, type World, worldOf } from '../support/cast.ts'
import { grove as command } from '../support/command.ts'
import { type Desk, newDesk, remoteUrl } from '../support/desk.ts'
import { pageAt } from '../support/pages.ts'
import { client, password } from '../support/people.ts'
import { attemptOf, type Operation, send, senderOf, specOperations } from '../support/permissions.ts'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'

const message = 'Back at six.'

describe('a service in maintenance mode', () => {
  const { grove } = useWorld({})
  let world: World
  let desk: Desk
  const attempts: { operation: Operation; attempt: Attempt }[] = []

  const senderFor = ({ id }: Operation, attempt: Attempt) =>
    senderOf(world, table[id].need === 'administrator' ? 'administrator' : 'owner', attempt)

  const isOn = async () => (await client(grove).get('/healthz')).body.maintenance === true

  before(async () => {
    world = await worldOf(await castFor(grove), true)
    desk = await newDesk()
    for (const operation of specOperations)
      if (operation.security === 'required' || operation.security === 'optional')
        attempts.push({ operation, attempt: await attemptOf(operation.id, world) })
    const { code, stdout } = await command(grove.dataDir, 'maintenance', 'on', '--message', message)
    expect({ code, stdout }).to.deep.equal({
      code: 0,
      stdout: 'Maintenance mode is on, and the data folder is quiet\n',
    })
    await until(isOn)
  })
  after(() => desk.remove())

  it('refuses every operation that changes content, and says why and for how long', async () => {
    const detail = `The service is in maintenance, so nothing can be changed now. ${message}`
    const refused = attempts.filter(({ operation }) => rights[operation.id].maintenance === 'refused')
    expect(refused).to.have.length.above(35)
    for (const { operation, attempt } of refused) {
      const { status, body, headers } = await send(senderFor(operation, attempt), operation, attempt)
      expect({ id: operation.id, status, code: body.code, detail: body.detail }).to.deep.equal({
        ...{ id: operation.id, status: 503, code: 'maintenance', detail },
      })
      expect(headers['retry-after'], operation.id).to.equal('60')
    }
    const { status, body } = await client(grove).post('/auth/signup', {
      ...{ email: 'new@example.org', password: 'correct horse battery', name: 'New' },
    })
    expect([status, body.code]).to.deep.equal([503, 'maintenance'])
  })

  it.deep('serves every other operation as always', async () => {
    const served = attempts.filter(({ operation }) => rights[operation.id].maintenance === 'served')
    expect(served).to.have.length.above(60)
    for (const { operation, attempt: before } of served) {
      // Another attempt may have ended the session since.
      const attempt = operation.id === 'endSession' ? await attemptOf('endSession', world) : before
      const { status, body } = await send(senderFor(operation, attempt), operation, attempt)
      expect([operation.id, status], JSON.stringify(body)).to.deep.equal([operation.id, operation.success])
    }
    const signedIn = await client(grove).post('/auth/login', { email: world.owner.user.email, password })
    expect(signedIn.status).to.equal(200)
    expect((await client(grove).get('/readyz')).status).to.equal(200)
  })

  it('refuses a push before anything is sent, and serves clones', async () => {
    const { token } = await made(world.owner.post('/auth/tokens', { name: 'Git', access: 'write' }))
    const REMOTE = remoteUrl(grove, world.org, world.node, token)
    await desk.done('git clone -q $REMOTE whales; cd whales; echo more >> content.md; git commit -q -a -m More', {
      REMOTE,
    })
    const { code, text } = await desk.sh('cd whales; git push -q')
    expect(code).to.equal(128)
    expect(text).to.include(`remote: The service is in maintenance, so nothing can be changed now. ${message}`)
  })

  for (const [what, options, content] of [
    ['a push', '', 'more'],
    ['a large push, which begins with an empty request,', '-c http.postBuffer=65536', 'much'],
  ] as const)
    it.deep(`refuses ${what} after Git has read the refs, and shows why`, async () => {
      const file = join(grove.dataDir, 'maintenance.json')
      const mode = await readFile(file)
      await rm(file)
      await until(async () => !(await isOn()))
      const { token } = await made(world.owner.post('/auth/tokens', { name: content, access: 'write' }))
      const REMOTE = remoteUrl(grove, world.org, world.node, token)
      await desk.done(`git clone -q $REMOTE ${content}`, { REMOTE })
      await writeFile(join(desk.dir, content, 'bytes'), content === 'much' ? randomBytes(200_000) : content)
      // Git runs this hook between its two requests.
      const hook = `touch ../${content}.read; until [ -e ../${content}.on ]; do sleep 0.05; done`
      await writeFile(join(desk.dir, content, '.git/hooks/pre-push'), `#!/bin/sh\n${hook}\n`, { mode: 0o755 })
      const pushed = desk.sh(`cd ${content}; git add bytes; git commit -q -m Bytes; git ${options} push -q origin main`)
      await until(() => existsSync(join(desk.dir, `${content}.read`)))
      await writeFile(file, mode)
      await until(isOn)
      await writeFile(join(desk.dir, `${content}.on`), '')
      const { code, text } = await pushed
      expect(code, text).to.equal(1)
      expect(text).to.include(`(The service is in maintenance, so nothing can be changed now. ${message})`)
    })

  it.deep('tells a model why a tool changes nothing', async () => {
    const { token } = await made(world.owner.post('/auth/tokens', { name: 'A model', access: 'write' }))
    const model = await connectHttp(token, '2026-07-28', grove)
    const text = await model.refused('create_node', { org_id: world.org, title: 'New' })
    expect(text).to.include('maintenance').and.to.include(message)
  })

  it('shows the message on every page, and no form that would be refused', async () => {
    const visit = await visitOf(grove, world.owner)
    for (const path of ['/', '/me/tokens', `${pageAt(world.org)}/settings/general`]) {
      const { body } = await visit.open(path)
      expect(body, path).to.include('Grove is in maintenance').and.to.include(message)
      expect(/<body[^>]* class="still"/.test(body), path).to.equal(path.startsWith('/o/'))
    }
    const refused = await visit.send('/new', { act: 'create', name: 'New' })
    expect(refused.status).to.equal(503)
    expect(refused.body).to.include(message)
  })

  it('counts a file that cannot be read as on, and ends when it is removed', async () => {
    const file = join(grove.dataDir, 'maintenance.json')
    await writeFile(file, '{')
    expect((await command(grove.dataDir, 'maintenance', 'status')).stdout).to.equal(
      'on: maintenance.json cannot be read\n',
    )
    const change = () => world.owner.post(`/orgs/${world.org}/nodes`, { title: 'New' })
    expect((await change()).body.code).to.equal('maintenance')
    expect((await command(grove.dataDir, 'maintenance', 'off')).stdout).to.equal('Maintenance mode is off\n')
    expect((await command(grove.dataDir, 'maintenance', 'off')).stdout).to.equal('Maintenance mode was already off\n')
    await until(async () => !(await isOn()))
    expect((await change()).status).to.equal(201)
  })
})
