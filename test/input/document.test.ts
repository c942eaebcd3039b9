import { expect } from 'chai'
import { statusOf } from '../../server/base/errors.ts'
import { isOneLine } from '../../server/domain/format/text-rules.ts'
import { withErrors } from '../../spec/errors-of.ts'
import document from '../../spec/openapi.json' with { type: 'json' }
import { revisionOf } from '../../spec/revision-of.ts'
import { rights } from '../../spec/rights.ts'
import { takenNames } from '../support/taken-names.ts'
import { resolved, type Schema } from '../support/wrong-values.ts'

interface Described extends Schema {
  readonly description?: string
  readonly allOf?: readonly Schema[]
}

interface Answer {
  readonly description: string
  readonly headers?: Readonly<Record<string, unknown>>
  readonly content?: Readonly<Record<string, { readonly schema: Described }>>
}

interface Operation {
  readonly operationId: string
  readonly method: string
  readonly path: string
  readonly tags: readonly string[]
  readonly security?: readonly object[]
  readonly parameters?: readonly (Described & { readonly name?: string })[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Described }>> }
  readonly responses: Readonly<Record<string, object>>
}

const operations: Operation[] = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item as unknown as Record<string, Operation>) // each path has a type of its own
    .filter(([method]) => method !== 'parameters')
    .map(([method, operation]) => ({ ...operation, method, path })),
)

const { schemas, parameters } = document.components
const answerOf = (operation: Operation, status: string) => resolved(operation.responses[status] ?? {}) as Answer // the spec's lint says so

describe('the document, as programs read it', () => {
  it('calls each operation by a verb and a noun, and no two alike', () => {
    const ids = operations.map(({ operationId }) => operationId)
    for (const id of ids) expect(id).to.match(/^[a-z]+([A-Z][a-z]+)+$/)
    expect(new Set(ids.map((id) => id.toLowerCase())).size).to.equal(ids.length)
  })

  it('calls no schema or parameter as a language or another of them is called', () => {
    const taken = takenNames()
    const names = [...Object.keys(schemas), ...Object.keys(parameters).map(inPascalCase)]
    expect(names.filter((name) => taken.has(name))).to.deep.equal([])
    expect(names.filter((name, at) => names.indexOf(name) !== at)).to.deep.equal([])
    // What generators make of an operation.
    const made = operations.flatMap(({ operationId }) =>
      ['', 'Data', 'Error', 'Errors', 'Params', 'Request', 'Response', 'Responses', 'Body'].map(
        (end) => inPascalCase(operationId) + end,
      ),
    )
    expect(names.filter((name) => made.includes(name))).to.deep.equal([])
  })

  it('describes every schema, every property and every parameter', () => {
    const silent = [
      ...Object.entries(schemas).flatMap(([name, schema]) => [
        ...((schema as Described).description ? [] : [name]),
        ...undescribed(schema as Described, name),
      ]),
      ...operations.flatMap((operation) =>
        Object.keys(operation.responses).flatMap((status) =>
          Object.values(answerOf(operation, status).content ?? {}).flatMap(({ schema }) =>
            undescribed(schema, `${operation.operationId} ${status}`),
          ),
        ),
      ),
      ...Object.entries(parameters).flatMap(([name, { description }]) => (description ? [] : [name])),
    ]
    expect(silent).to.deep.equal([])
  })

  it('says of every GET that it has an ETag, and is 304 to who has it, but for what is made while it is read', () => {
    const streamed = ['exportOrg', 'exportMyData']
    const known = operations.filter(({ method, operationId }) => method === 'get' && !streamed.includes(operationId))
    for (const operation of known) {
      expect(answerOf(operation, '200').headers, operation.operationId).to.have.property('ETag')
      expect(answerOf(operation, '304').headers, operation.operationId).to.have.property('ETag')
    }
  })

  it('has every refusal that an operation can give, with a body', () => {
    for (const operation of operations) {
      const { operationId, security = [{}], requestBody, tags, path } = operation
      const limited = tags[0] !== 'operation'
      const looks = security.some((way) => Object.keys(way).length > 0 && !('metrics' in way))
      const all = [
        ...['400', '405', '408', '417', '422', '431', '500'],
        ...(operation.security === undefined || looks ? ['401', '403'] : []),
        ...(path.includes('{') ? ['404'] : []),
        ...(requestBody === undefined ? [] : ['413', '415']),
        ...(limited ? ['429', '503'] : []),
      ]
      expect(Object.keys(operation.responses), operationId).to.include.members(all)
      for (const status of Object.keys(operation.responses).filter((one) => !/^[23]/.test(one))) {
        const [type, ...others] = Object.entries(answerOf(operation, status).content ?? {})
        const body = status === '422' ? 'ValidationErrorBody' : 'ErrorBody'
        expect([type?.[0], type?.[1].schema, others.length], `${operationId} ${status}`).to.deep.equal([
          'application/json',
          { $ref: `#/components/schemas/${body}` },
          0,
        ])
      }
    }
  })

  it('is refused with an error that the rule adds, or without one that it does not add', () => {
    const complete = (operation: object) =>
      withErrors({ security: [], paths: { '/': { get: { operationId: 'getRoot', responses: {}, ...operation } } } })
    const own = { description: 'Of its own.' }
    const { get } = complete({ 'x-never': ['429'], responses: { 400: own } }).paths['/'] as { readonly get: Operation }
    expect(get.responses['400']).to.equal(own)
    expect(Object.keys(get.responses)).to.deep.equal(['400', '405', '408', '417', '422', '431', '500', '503'])
    const again = { responses: { 400: { $ref: '#/components/responses/BadRequest' } } }
    expect(() => complete(again)).to.throw('getRoot lists 400')
    for (const wrong of [{ 'x-never': ['413'] }, { 'x-never': ['400'], responses: { 400: own } }])
      expect(() => complete(wrong)).to.throw('in x-never')
  })

  it('has what generators of clients need: names apart without case, statuses, and successes in place', () => {
    const ids = operations.map(({ operationId }) => operationId)
    const names = [...Object.keys(schemas), ...ids]
    const folded = names.map((name) => name.toLowerCase())
    expect(names.filter((name) => folded.filter((one) => one === name.toLowerCase()).length > 1)).to.deep.equal([])
    for (const { operationId, responses } of operations) {
      expect(Object.keys(responses), operationId).to.satisfy((all: string[]) => all.every((one) => /^\d{3}$/.test(one)))
      for (const [status, answer] of Object.entries(responses))
        if (status.startsWith('2')) expect(answer, `${operationId} ${status}`).to.not.have.property('$ref')
    }
    expect(document.info).to.have.property('contact')
  })

  it('has a revision that changes with the contract, and not with its words', () => {
    const changed = (at: RegExp, to: string) => revisionOf(JSON.parse(JSON.stringify(document).replace(at, to)))
    const is = document.info['x-revision']
    expect(revisionOf(document)).to.equal(is)
    expect(changed(/"description":"The name of the user who merged it\.[^"]*"/g, '"description":"Another."')).to.equal(
      is,
    )
    expect(changed(/"example":\{"status":"ok"/, '"example":{"status":"well"')).to.equal(is)
    const changes = [
      [/"merged_by":/, '"merged_from":'],
      [/"maxLength":500/, '"maxLength":501'],
      [/"required":\["status"\]/, '"required":[]'],
      [/"enum":\["open",/, '"enum":["opened",'],
      [/"operationId":"getHealth"/, '"operationId":"getHeart"'],
    ] as const
    for (const [at, to] of changes) expect(changed(at, to), to).to.not.equal(is)
  })

  it('lists the codes for today and for later, and the guide has each in the row of its status', () => {
    const { ErrorCode, MergeReason } = schemas
    expect(ErrorCode.anyOf).to.deep.equal([{ $ref: '#/components/schemas/KnownErrorCode' }, { type: 'string' }])
    const reasons = MergeReason.enum.filter((reason) => reason !== 'mergeable')
    const rows = [...document.info.description.matchAll(/^\| ([45]\d\d) \|(.*)$/gm)]
    const listed = rows.flatMap(([, status, row = '']) =>
      [...row.matchAll(/`([a-z_]+)`/g)]
        .flatMap(([, code = '']) => (code === 'merge_reason' ? reasons : [code]))
        .map((code) => [code, Number(status)]),
    )
    expect(Object.fromEntries(listed.filter(([code]) => code !== 'request_id'))).to.deep.equal(statusOf)
  })

  it('types what is a number as one, and what may be null as that', () => {
    expect(parameters.pull_number.schema.type).to.equal('integer')
    expect(schemas.PullRequest.properties.number.type).to.equal('integer')
    const { top_k, expansion_depth, scope, include_raw_text } = schemas.SearchRequest.properties
    for (const { type } of [top_k, expansion_depth, include_raw_text]) expect(type).to.include('null')
    expect(scope.anyOf).to.deep.include({ type: 'null' })
    expect(schemas.NewUser.allOf[1]).to.deep.include({ required: ['org_id'] })
  })

  it('lets an operation, or a parameter, choose the text of an answer', () => {
    for (const operation of operations) {
      const all = Object.keys(answerOf(operation, '200').content ?? {})
      // A stream has no end, so a generated function cannot return it.
      const types = all.filter((type) => type !== 'text/event-stream')
      const alone = operations.some((other) => {
        const [only, ...rest] = Object.keys(answerOf(other, '200').content ?? {})
        return only === types[1] && rest.length === 0
      })
      const named = operation.parameters?.some(({ name }) => name === 'format') ?? false
      expect(types.length === 1 || alone || named || types.length === 0, operation.operationId).to.equal(true)
    }
  })

  it('and the rights made from it name every operation', () => {
    expect(Object.keys(rights)).to.deep.equal(operations.map(({ operationId }) => operationId))
  })

  it('allows the same characters in a title, tag or label as a push does', () => {
    const lines = [schemas.Title, schemas.DisplayName, schemas.EdgeLabel, schemas.NodeTags.items]
    const prose = [schemas.CommitMessage, schemas.NodeText, schemas.PullDescription]
    for (let point = 0; point < 0x3000; point++) {
      const text = `a${String.fromCodePoint(point)}b`
      for (const { pattern } of lines) expect(new RegExp(pattern, 'u').test(text), `${point}`).to.equal(isOneLine(text))
      for (const { pattern } of prose) {
        const allowed = isOneLine(text) || '\t\n\r'.includes(text[1] ?? '')
        expect(new RegExp(pattern, 'u').test(text), `${point}`).to.equal(allowed)
      }
    }
  })
})

function undescribed(schema: Described, at: string): string[] {
  if (schema.$ref !== undefined) return []
  const members = Object.entries(schema.properties ?? {})
  const silent = members.filter(([, member]) => !(resolved(member) as Described).description)
  const inner = [
    ...members.map(([name, member]): [string, Described] => [`${at}.${name}`, member]),
    ...[...(schema.allOf ?? []), ...(schema.anyOf ?? [])].map((part): [string, Described] => [at, part]),
    ...(schema.items === undefined ? [] : [[`${at}[]`, schema.items] as [string, Described]]), // a pair
  ]
  return [...silent.map(([name]) => `${at}.${name}`), ...inner.flatMap(([place, part]) => undescribed(part, place))]
}

function inPascalCase(name: string): string {
  return name.replace(/(^|[_-])(\w)/g, (_, _mark, letter: string) => letter.toUpperCase())
}
