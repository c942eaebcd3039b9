/** Clients of an earlier release and of this one read each other's services. */

import { rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { expect } from 'chai'
import { grove as newClient, type OperationId } from '../../spec/client/client.ts'
import document from '../../spec/openapi.json' with { type: 'json' }
import { table } from '../support/attempts.ts'
import { castFor, type World, worldOf } from '../support/cast.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { attemptOf } from '../support/permissions.ts'
import { metricsToken } from '../support/scrapes.ts'
import { useWorld } from '../support/world.ts'
import { type Contract, contractOfRelease, type Described, openRelease, type Release, releases } from './open.ts'

/** Values of enumerations that later versions added, as the spec announces. */
const laterValues: ReadonlySet<unknown> = new Set(['contributor'])

type Call = (input: object) => Promise<unknown>

for (const version of releases)
  describe(`the client of ${version}`, () => {
    const { grove } = useWorld({}, { publicUrl: 'https://grove.example', metricsToken })
    let contract: Contract
    let world: World
    before(async () => {
      contract = await contractOfRelease(version)
      world = await worldOf(await castFor(grove), true)
    })

    it('reads every answer of this service as it was described to it', async () => {
      const source = Buffer.from(contract.client).toString('base64')
      const { grove: oldClient } = await import(`data:text/javascript;base64,${source}`)
      const validate = validatorsOf(contract)
      const wrong: unknown[] = []
      let asked = 0
      for (const { operationId } of operationsOf(contract)) {
        const id = operationId as OperationId // this version has all of them
        const attempt = await attemptOf(id, world)
        const input = inputOf(attempt)
        if (validate.request(id, input.body).length > 0) continue // with a field that came later
        const person = id === 'changePassword' ? await signUp(grove, 'Chris Changer') : attempt.instead
        const who = person ?? (table[id].need === 'administrator' ? world.people.administrator : world.owner)
        const { accessToken } = (who as PersonClient).session // everybody of the cast has signed up
        const client = oldClient({ url: grove.url, token: accessToken })
        const headers = id === 'getMetrics' ? { headers: { Authorization: `Bearer ${metricsToken}` } } : {}
        const answer = await (client[id] as Call)({ ...input, ...headers })
        asked++
        for (const { keyword, instancePath, message, data } of validate.answer(id, answer))
          if (keyword !== 'enum' || !laterValues.has(data)) wrong.push([id, instancePath, message])
      }
      expect(wrong).to.deep.equal([])
      expect(asked).to.be.at.least(operationsOf(contract).length - 3)
    })
  })

for (const version of releases)
  describe(`the client of this version at a service of ${version}`, () => {
    let release: Release
    let replay: Awaited<ReturnType<typeof replayOf>>
    before(async () => {
      release = await openRelease(version)
      replay = await replayOf(release.answers)
    })
    after(async () => {
      await replay.close()
      await rm(release.dataDir, { recursive: true, force: true })
    })

    it('reads every answer; fields that came later are absent, and nothing else differs', async () => {
      const now = validatorsOf(document as unknown as Contract) // its paths have types of their own
      const made = newClient({ url: replay.url, token: release.token })
      const client = made as unknown as Readonly<Record<string, Call>> // called by the names of the release
      const called = new Set<string>()
      const wrong: unknown[] = []
      for (const request of Object.keys(release.answers)) {
        const found = findRequest(request)
        if (!found || !release.answers[request]?.startsWith('200')) continue
        const answer = await client[found.id]?.(found.input)
        called.add(found.id)
        for (const error of now.answer(found.id, answer))
          if (error.keyword !== 'required') wrong.push([found.id, error.instancePath, error.message])
      }
      expect(wrong).to.deep.equal([])
      expect(called.size).to.be.at.least(15)
    })
  })

function operationsOf({ paths }: Pick<Contract, 'paths'>): readonly Described[] {
  return Object.values(paths).flatMap((item) =>
    Object.entries(item).flatMap(([method, operation]) => (method === 'parameters' ? [] : [operation])),
  )
}

/** Validators of the bodies of JSON that a contract describes. Without a body or a schema, nothing is wrong. */
function validatorsOf(contract: Pick<Contract, 'paths' | 'components'>) {
  const ajv = new Ajv2020({ strict: false, allErrors: true, verbose: true, validateFormats: true })
  addFormats.default(ajv)
  ajv.addSchema({ $id: 'contract', paths: contract.paths, components: contract.components })
  const byId = new Map(operationsOf(contract).map((operation) => [operation.operationId, operation]))
  const check = (schema: object | undefined, value: unknown): readonly ErrorObject[] => {
    if (schema === undefined || value === undefined || value instanceof Response) return []
    const compiled = JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"contract#/components/'))
    const validate = ajv.compile(compiled)
    return validate(value) ? [] : (validate.errors ?? [])
  }
  return {
    request: (id: string, body: unknown) => check(byId.get(id)?.requestBody?.content['application/json']?.schema, body),
    answer: (id: string, body: unknown) => {
      const [, answer] = Object.entries(byId.get(id)?.responses ?? {}).find(([status]) => status.startsWith('2')) ?? []
      return check(answer?.content?.['application/json']?.schema, body)
    },
  }
}

function inputOf({ org, params = {}, query, body, zip }: Awaited<ReturnType<typeof attemptOf>>) {
  return { path: { org_id: org, ...params }, query: Object.fromEntries(new URLSearchParams(query)), body: zip ?? body }
}

/** Finds the operation of a recorded request: a path, or a path and the JSON of a body. */
function findRequest(request: string): { readonly id: string; readonly input: object } | undefined {
  const [url = '', json] = request.split(/ (?=\{)/)
  const [path = '', query = ''] = url.split('?')
  for (const [template, item] of Object.entries(document.paths)) {
    const names = [...template.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
    const values = new RegExp(`^${template.replace(/\{\w+\}/g, '([^/]+)')}$`).exec(path)?.slice(1)
    const operation = (item as Partial<Record<string, Described>>)[json === undefined ? 'get' : 'post']
    if (!values || !operation) continue
    const parameters = Object.fromEntries(names.map((name, at) => [name, decodeURIComponent(values[at] ?? '')]))
    const body = json === undefined ? {} : { body: JSON.parse(json) }
    const input = { path: parameters, query: Object.fromEntries(new URLSearchParams(query)), ...body }
    return { id: operation.operationId, input }
  }
  return undefined
}

/** Serves recorded answers. */
async function replayOf(answers: Readonly<Record<string, string>>) {
  const server = createServer(async (req, res) => {
    let body = ''
    for await (const part of req) body += part
    const answer = answers[body === '' ? (req.url ?? '') : `${req.url} ${body}`] ?? '404 {}'
    const text = answer.slice(4)
    res.writeHead(Number(answer.slice(0, 3)), {
      'content-type': /^[[{]/.test(text) ? 'application/json' : 'text/plain',
    })
    res.end(text)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo // it listens on a port
  const close = () => {
    server.closeAllConnections()
    return new Promise<void>((done) => server.close(() => done()))
  }
  return { url: `http://127.0.0.1:${port}`, close }
}
