/** Every way to change a node judges the rules of its type. */

import { expect } from 'chai'
import { runCommand } from '../support/command.ts'
import { type Desk, newDesk, remoteUrl } from '../support/desk.ts'
import { gitIn } from '../support/git.ts'
import { expecting } from '../support/node.ts'
import type { Answer } from '../support/people.ts'
import { newScene } from '../support/world.ts'

/** The content of a node that is judged. */
interface State {
  readonly properties: Record<string, unknown>
  connections: { id: string; target: string; type: string }[]
  parents: string[]
}

const { grove, ann, useScene } = newScene({ ann: 'owner' })
let desk: Desk
/** A node of type person, and nodes of type collection. */
let person: string
let collections: [string, string]

const rules = {
  schema: {
    required: ['serves'],
    properties: { serves: { type: 'integer' }, course: { enum: ['starter', 'main'] }, code: { pattern: '^[A-Z]{2}$' } },
    additionalProperties: false,
  },
  connections: { written_by: { to: ['person'], min: 1, max: 1 } },
  other_connections: false,
  parents: { types: ['collection'], max: 1 },
}
const define = (name: string, definition: object) =>
  ann.put(`/orgs/${ann.org}/types/${name}`, { definition: { title: name, ...definition } }).then(expecting(200))

const validState = (type: string): State => ({
  properties: { type, serves: 4, course: 'main', code: 'AB' },
  connections: [{ id: 'a', target: person, type: 'written_by' }],
  parents: [collections[0]],
})

interface Violation {
  readonly change: (state: State) => void
  readonly says: () => string
  /** The property at fault. Undefined for edges. */
  readonly property?: string
}

const violations = {
  missing: {
    change: ({ properties }) => delete properties.serves,
    says: () => 'properties.serves is missing',
    property: 'serves',
  },
  kind: {
    change: ({ properties }) => Object.assign(properties, { serves: 'four' }),
    says: () => 'properties.serves must be a whole number; it is the text "four"',
    property: 'serves',
  },
  choice: {
    change: ({ properties }) => Object.assign(properties, { course: 'dessert' }),
    says: () => 'properties.course must be "starter" or "main"; it is the text "dessert"',
    property: 'course',
  },
  pattern: {
    change: ({ properties }) => Object.assign(properties, { code: 'x1' }),
    says: () => 'properties.code must match the pattern "^[A-Z]{2}$"; it is the text "x1"',
    property: 'code',
  },
  additional: {
    change: ({ properties }) => Object.assign(properties, { colour: 'red' }),
    says: () => 'properties.colour is not a field here, and others are not allowed',
    property: 'colour',
  },
  min: {
    change: (state) => {
      state.connections = []
    },
    says: () => 'connections.written_by must have at least 1 connection; the node has 0',
  },
  max: {
    change: ({ connections }) => connections.push({ id: 'b', target: person, type: 'written_by' }),
    says: () => 'connections.written_by must have at most 1 connection; the node has 2',
  },
  to: {
    change: (state) => {
      state.connections = [{ id: 'b', target: collections[0], type: 'written_by' }]
    },
    says: () =>
      'connections.written_by must have nodes of type "person" at the other end; connection b leads to a node of type "collection"',
  },
  other: {
    change: ({ connections }) => connections.push({ id: 'b', target: person, type: 'cites' }),
    says: () => 'connections.cites is not allowed: it must be "written_by"; the node has 1',
  },
  parentType: {
    change: (state) => {
      state.parents = [person]
    },
    says: () =>
      `parents must have nodes of type "collection" at the other end; parent ${person} is a node of type "person"`,
  },
  parentMax: {
    change: ({ parents }) => parents.push(collections[1]),
    says: () => 'parents must have at most 1 parent; the node has 2',
  },
} satisfies Record<string, Violation>
type Name = keyof typeof violations
const violationOf = (name: Name): Violation => violations[name]
const broken = (type: string, name: Name): State => {
  const state = validState(type)
  violationOf(name).change(state)
  return state
}

function filesOf({ properties, connections, parents }: State): Record<string, string> {
  return {
    'node.json': `${JSON.stringify({ title: 'Dish', properties }, null, 2)}\n`,
    ...Object.fromEntries(
      connections.map(({ id, ...edge }) => [`connections/${id}.json`, `${JSON.stringify(edge)}\n`]),
    ),
    ...Object.fromEntries(parents.map((id) => [`parents/${id}.json`, '{}\n'])),
  }
}

/** The changes of a commit from one state to another. */
function changesOf(before: State, after: State): Record<string, string | null> {
  const [old, now] = [filesOf(before), filesOf(after)]
  const gone = Object.keys(old).filter((path) => !(path in now))
  const changed = Object.entries(now).filter(([path, text]) => old[path] !== text)
  return Object.fromEntries([...gone.map((path) => [path, null] as const), ...changed])
}

const nodes = () => `/orgs/${ann.org}/nodes`
const newId = () => crypto.randomUUID()

/** Creates a node with that content by a batch, and returns its id. */
async function nodeWith(state: State): Promise<string> {
  const id = newId()
  await ann.post(`${nodes()}/batch`, { nodes: [{ id, title: 'Dish', ...state }] }).then(expecting(201))
  return id
}

function commit(id: string, branch: string, files: Readonly<Record<string, string | null>>): Promise<Answer> {
  const changes = Object.entries(files).map(([path, content]) =>
    content === null ? { action: 'delete', path } : { action: 'put', path, content },
  )
  return ann.post(`${nodes()}/${id}/tree/${branch}/commits`, { message: 'Change', changes })
}

/** A new branch with one commit, and a pull request from it. */
async function proposed(id: string, files: Readonly<Record<string, string | null>>) {
  await ann.post(`${nodes()}/${id}/branches`, { name: 'better' }).then(expecting(201))
  await commit(id, 'better', files).then(expecting(201))
  const body = { source_branch: 'better', title: 'Better' }
  return (await ann.post(`${nodes()}/${id}/pull-requests`, body).then(expecting(201))).body.pr
}

/** Commits files in a new clone, and pushes them. Returns what git shows, or '' if all refs were moved. */
async function push(id: string, files: Readonly<Record<string, string | null>>, refs: string): Promise<string> {
  const REMOTE = remoteUrl(grove, ann.org, id, ann.session.accessToken)
  const writing = Object.entries(files).map(([path, text]) =>
    text === null ? `rm ${path}` : `mkdir -p "$(dirname ${path})"; cat > ${path} <<'END'\n${text}END`,
  )
  const folder = newId()
  const { code, text } = await desk.sh(
    `git clone -q $REMOTE ${folder} 2> /dev/null; cd ${folder}\n${writing.join('\n')}
    git add -A; git commit -q -m Change; git push -q ${refs.startsWith('--atomic') ? '--atomic ' : ''}origin ${refs.replace('--atomic ', '')}`,
    { REMOTE },
  )
  return code === 0 ? '' : text
}

/** The outcome of an attempt: the node, and the words of a refusal. `locs` are the places of a 422. */
interface Outcome {
  readonly node: string
  readonly told: readonly string[]
  readonly locs?: readonly string[]
}

function outcomeOf(node: string, { status, body }: Answer): Outcome {
  if (status < 300) return { node, told: [] }
  if (status !== 422) throw new Error(`${status} ${JSON.stringify(body)}`)
  const detail: { type: string; loc: unknown[]; msg: string }[] = body.detail
  expect(detail.map(({ type }) => type)).to.deep.equal(detail.map(() => 'type_rule'))
  return { node, told: detail.map(({ msg }) => msg), locs: detail.map(({ loc }) => loc.join('.')) }
}

interface Door {
  readonly violations: readonly Name[]
  /** Breaks a rule by this way, on a node that is valid before. */
  readonly attempt: (type: string, name: Name) => Promise<Outcome>
  /** The place in the request. Undefined if the door is not an operation of the API. */
  readonly loc?: (name: Name) => string
}

/** Sends a request for a node that is valid before. */
const onNode =
  (send: (at: string, name: Name, type: string) => Promise<Answer>): Door['attempt'] =>
  async (type, name) => {
    const id = await nodeWith(validState(type))
    return outcomeOf(id, await send(`${nodes()}/${id}`, name, type))
  }
const placeIn = (start: string, name: Name, edges = start) => {
  const { property } = violationOf(name)
  return property === undefined ? edges : `${start}.properties.${property}`
}
const pushed =
  (refs: string): Door['attempt'] =>
  async (type, name) => {
    const id = await nodeWith(validState(type))
    const text = await push(id, changesOf(validState(type), broken(type, name)), refs)
    return { node: id, told: text === '' ? [] : [text] }
  }
const merged =
  (merge: (id: string, number: number) => Promise<readonly string[]>): Door['attempt'] =>
  async (type, name) => {
    const id = await nodeWith(validState(type))
    const pr = await proposed(id, changesOf(validState(type), broken(type, name)))
    return { node: id, told: await merge(id, pr.number) }
  }
const mergeByButton = async (id: string, number: number): Promise<readonly string[]> => {
  const { status, body } = await ann.post(`${nodes()}/${id}/pull-requests/${number}/merge`, {})
  if (status === 200) return []
  expect({ status, code: body.code }).to.deep.equal({ status: 409, code: 'invalid_content' })
  return body.merge_problems.map(({ reason }: { reason: string }) => reason)
}

const doors: Readonly<Record<string, Door>> = {
  createNode: {
    violations: ['missing', 'additional', 'parentType'],
    attempt: async (type, name) => {
      const id = newId()
      const { properties, parents } = broken(type, name)
      return outcomeOf(id, await ann.post(nodes(), { id, title: 'Dish', properties, parents }))
    },
    loc: (name) => placeIn('body', name),
  },
  updateNode: {
    violations: ['kind', 'choice', 'pattern'],
    attempt: onNode((at, name, type) => ann.patch(at, { properties: broken(type, name).properties })),
    loc: (name) => placeIn('body', name),
  },
  createCommit: {
    violations: ['missing', 'min', 'other', 'parentMax'],
    attempt: async (type, name) => {
      const id = await nodeWith(validState(type))
      return outcomeOf(id, await commit(id, 'main', changesOf(validState(type), broken(type, name))))
    },
    loc: (name) => (violationOf(name).property === undefined ? 'body.changes' : 'body.changes.0'),
  },
  createNodes: {
    violations: ['kind', 'to', 'max'],
    attempt: async (type, name) => {
      const id = newId()
      const item = { id, title: 'Dish', ...broken(type, name) }
      return outcomeOf(id, await ann.post(`${nodes()}/batch`, { nodes: [{ title: 'First' }, item] }))
    },
    loc: (name) => placeIn('body.nodes.1', name),
  },
  putNodes: {
    violations: ['choice', 'min', 'parentType'],
    attempt: async (type, name) => {
      const id = await nodeWith(validState(type))
      return outcomeOf(id, await ann.put(`${nodes()}/batch`, { nodes: [{ id, title: 'Dish', ...broken(type, name) }] }))
    },
    loc: (name) => placeIn('body.nodes.0', name),
  },
  addConnection: {
    violations: ['max', 'other'],
    attempt: onNode((at, name, type) => ann.post(`${at}/connections`, broken(type, name).connections[1])),
    loc: () => 'body.target',
  },
  updateConnection: {
    violations: ['other'],
    attempt: async (type) => {
      const id = await nodeWith(validState(type))
      const sent = { type: 'cites' }
      return outcomeOf(id, await ann.patch(`${nodes()}/${id}/connections/a`, sent))
    },
    loc: () => 'body.target',
  },
  removeConnection: {
    violations: ['min'],
    attempt: onNode((at) => ann.delete(`${at}/connections/a`)),
    loc: () => 'path.connection_id',
  },
  putParent: {
    violations: ['parentMax'],
    attempt: onNode((at) => ann.put(`${at}/parents/${collections[1]}`, {})),
    loc: () => 'path.parent_id',
  },
  'restoring a version': {
    violations: ['pattern', 'to'],
    attempt: async (type, name) => {
      const id = newId()
      // The earlier version has a type that was defined later.
      const draft = `draft-${name.toLowerCase()}-${type}`
      const old = { ...broken(type, name), properties: { ...broken(type, name).properties, type: draft } }
      await ann.post(`${nodes()}/batch`, { nodes: [{ id, title: 'Dish', ...old }] }).then(expecting(201))
      const { body } = await ann.get(`${nodes()}/${id}/tree/main/commits`).then(expecting(200))
      await commit(id, 'main', changesOf(old, validState(type))).then(expecting(201))
      await define(draft, { ...rules, enforcement: type === 'recipe' ? 'strict' : 'advisory' })
      return outcomeOf(id, await ann.post(`${nodes()}/${id}/branches/main/restore`, { commit: body.history[0].id }))
    },
    loc: () => 'body.commit',
  },
  'a push': { violations: ['missing', 'to'], attempt: pushed('HEAD:main') },
  'the first push': {
    violations: ['parentMax'],
    attempt: async (type, name) => {
      const { id } = (await ann.post(nodes(), { title: 'Dish', initialize: false }).then(expecting(201))).body
      const text = await push(id, filesOf(broken(type, name)), 'HEAD:main')
      return { node: id, told: text === '' ? [] : [text] }
    },
  },
  'an atomic push': { violations: ['kind'], attempt: pushed('--atomic HEAD:side HEAD:main') },
  'a merge': { violations: ['additional', 'max'], attempt: merged(mergeByButton) },
  'a merge by a push': {
    violations: ['choice'],
    attempt: merged(async (id) => {
      const text = await push(id, { 'other.txt': 'x\n' }, 'origin/better:main')
      return text === '' ? [] : [text]
    }),
  },
  'a merge after an update of the branch': {
    violations: ['pattern'],
    attempt: merged(async (id, number) => {
      await commit(id, 'main', { 'other.txt': 'x\n' }).then(expecting(201))
      await ann.post(`${nodes()}/${id}/pull-requests/${number}/update-branch`, {}).then(expecting(200))
      return mergeByButton(id, number)
    }),
  },
  'a merge of an applied suggestion': {
    violations: ['kind'],
    attempt: async (type) => {
      const id = await nodeWith(validState(type))
      const after = { ...validState(type), properties: { type, serves: 4, course: 'main' } }
      const pr = await proposed(id, changesOf(validState(type), after))
      const at = `${nodes()}/${id}/pull-requests/${pr.number}`
      const anchor = { commit: pr.source_commit, path: 'node.json', first_line: 5 }
      const comment = { text: '', suggestion: '    "serves": "four",', anchor }
      const { entry } = (await ann.post(`${at}/comments`, comment).then(expecting(201))).body
      const applying = { comments: [entry], expected_source_commit: pr.source_commit }
      await ann.post(`${at}/suggestions`, applying).then(expecting(200))
      return { node: id, told: await mergeByButton(id, pr.number) }
    },
  },
  'a merge that undoes another': {
    violations: ['min'],
    attempt: async (type, name) => {
      const old = { ...broken(type, name), properties: { ...validState(type).properties, type: 'draft' } }
      const id = await nodeWith(old)
      const pr = await proposed(id, changesOf(old, { ...validState(type), properties: old.properties }))
      expect(await mergeByButton(id, pr.number)).to.deep.equal([])
      await commit(id, 'main', { 'node.json': filesOf(validState(type))['node.json'] ?? '' }).then(expecting(201))
      const undo = await ann.post(`${nodes()}/${id}/pull-requests/${pr.number}/undo`, {}).then(expecting(201))
      return { node: id, told: await mergeByButton(id, undo.body.pr.number) }
    },
  },
}

describe('types at every door', () => {
  useScene()
  before(async () => {
    desk = await newDesk()
    await define('person', {})
    await define('collection', {})
    const create = async (type: string): Promise<string> =>
      (await ann.post(nodes(), { title: type, properties: { type } }).then(expecting(201))).body.id
    person = await create('person')
    collections = [await create('collection'), await create('collection')]
    await define('recipe', { ...rules, enforcement: 'strict' })
    await define('note', { ...rules, enforcement: 'advisory' })
  })
  after(() => desk.remove())

  for (const [what, { violations: names, attempt, loc }] of Object.entries(doors))
    it(`${what} is refused by a strict type, and lists problems of an advisory one`, async () => {
      for (const name of names) {
        const says = violationOf(name).says()
        const strict = await attempt('recipe', name)
        expect(strict.told.join('\n'), name).to.include(says)
        if (loc) expect(strict.locs, name).to.include(loc(name))
        const advisory = await attempt('note', name)
        expect(advisory.told, name).to.deep.equal([])
        const { type_problems } = (await ann.get(`${nodes()}/${advisory.node}`).then(expecting(200))).body
        expect(
          type_problems.map(({ msg }: { msg: string }) => msg),
          name,
        ).to.include(says)
      }
    })

  describe('keep old faults', () => {
    /** A node of a strict type that broke three rules before these were made. */
    const old = async (): Promise<{ readonly id: string; readonly state: State }> => {
      const state = validState(`old-${(oldTypes++).toString()}`)
      for (const name of ['missing', 'choice', 'other'] as const) violationOf(name).change(state)
      const id = await nodeWith(state)
      await define(String(state.properties.type), { ...rules, enforcement: 'strict' })
      return { id, state }
    }
    let oldTypes = 0
    const worse = ({ properties, ...state }: State): State => ({ ...state, properties: { ...properties, code: 'x' } })
    const better = ({ properties, ...state }: State): State => ({ ...state, properties: { ...properties, serves: 1 } })
    const same = ({ properties, ...state }: State): State => ({ ...state, properties: { ...properties, code: 'CD' } })

    /** Each way changes the node's content. Returns the words of a refusal. */
    const ways: Readonly<Record<string, (id: string, before: State, after: State) => Promise<readonly string[]>>> = {
      updateNode: async (id, _, { properties }) =>
        outcomeOf(id, await ann.patch(`${nodes()}/${id}`, { properties })).told,
      createCommit: async (id, before, after) => outcomeOf(id, await commit(id, 'main', changesOf(before, after))).told,
      putNodes: async (id, _, after) =>
        outcomeOf(id, await ann.put(`${nodes()}/batch`, { nodes: [{ id, title: 'Dish', ...after }] })).told,
      'a push': async (id, before, after) => {
        const text = await push(id, changesOf(before, after), 'HEAD:main')
        return text === '' ? [] : [text]
      },
      'a merge': async (id, before, after) => {
        const { number } = await proposed(id, changesOf(before, after))
        const told = await mergeByButton(id, number)
        await ann.patch(`${nodes()}/${id}/pull-requests/${number}`, { status: 'closed' })
        await ann.delete(`${nodes()}/${id}/branches/better`).then(expecting(204))
        return told
      },
    }
    for (const [what, way] of Object.entries(ways))
      it.deep(`in ${what}: they may stay and become fewer, not more`, async () => {
        const { id, state } = await old()
        const told = await way(id, state, worse(state))
        expect(told.join('\n')).to.include('properties.code must match').and.not.include('properties.serves')
        expect(await way(id, state, same(state))).to.deep.equal([])
        expect(await way(id, same(state), better(same(state)))).to.deep.equal([])
        const { type_problems } = (await ann.get(`${nodes()}/${id}`).then(expecting(200))).body
        expect(type_problems.map(({ rule }: { rule: string }) => rule)).to.deep.equal(['enum', 'other_connections'])
        const back = await way(id, better(same(state)), same(state))
        expect(back.join('\n')).to.include('properties.serves is missing')
      })

    it('in operations on edges', async () => {
      const { id } = await old()
      const at = `${nodes()}/${id}/connections`
      expect((await ann.post(at, { target: collections[0], type: 'cites' })).status).to.equal(422)
      await ann.patch(`${at}/b`, { label: 'Still allowed' }).then(expecting(200))
      await ann.delete(`${at}/b`).then(expecting(204))
      expect((await ann.post(at, { target: person, type: 'cites' })).status).to.equal(422)
    })
  })

  it('count the types of nodes that the same batch writes', async () => {
    const dish = (more: object) => ({ title: 'Dish', properties: { type: 'recipe', serves: 4 }, ...more })
    const by = (target: string) => ({ connections: [{ target, type: 'written_by' }] })
    const cook = { title: 'Olga', ref: 'cook', properties: { type: 'Person' } }
    const made = await ann.post(`${nodes()}/batch`, { nodes: [dish(by('cook')), cook] }).then(expecting(201))
    const [dishId, cookId] = made.body.nodes.map(({ id }: { id: string }) => id)
    const cat = { title: 'Tom', ref: 'cook', properties: { type: 'cat' } }
    const { body } = await ann.post(`${nodes()}/batch`, { nodes: [dish(by('cook')), cat] }).then(expecting(422))
    expect(body.detail[0]).to.deep.include({ type: 'type_rule', loc: ['body', 'nodes', 0] })
    expect(body.detail[0].msg).to.include('leads to a node of type "cat"')

    // Both exist: the new type of one counts for the new edge of the other, whatever is committed first.
    for (const order of [0, 1]) {
      const later = (await ann.post(nodes(), { title: 'Later' }).then(expecting(201))).body.id
      const items = [
        { id: dishId, ...dish({ connections: [{ id: `c${order}`, target: later, type: 'written_by' }] }) },
        { id: later, title: 'Later', properties: { type: 'person' } },
      ]
      await ann.put(`${nodes()}/batch`, { nodes: order === 0 ? items : items.reverse() }).then(expecting(200))
    }
    await ann.delete(`${nodes()}/${cookId}`).then(expecting(204))
    expect((await ann.get(`${nodes()}/${dishId}`).then(expecting(200))).body.type_problems).to.deep.equal([])
  })

  it.deep('do not judge other branches, and judge main when it is created from one', async () => {
    const id = await nodeWith(validState('recipe'))
    await ann.post(`${nodes()}/${id}/branches`, { name: 'draft' }).then(expecting(201))
    await commit(id, 'draft', changesOf(validState('recipe'), broken('recipe', 'missing'))).then(expecting(201))
    expect(
      await push(id, { 'node.json': filesOf(broken('recipe', 'kind'))['node.json'] ?? '' }, 'HEAD:other'),
    ).to.equal('')
    const empty = (await ann.post(nodes(), { title: 'Empty', initialize: false }).then(expecting(201))).body.id
    await push(empty, filesOf(broken('recipe', 'missing')), 'HEAD:draft')
    const outcome = outcomeOf(empty, await ann.post(`${nodes()}/${empty}/branches`, { name: 'main', from: 'draft' }))
    expect(outcome).to.deep.include({ told: ['properties.serves is missing'], locs: ['body.from'] })
  })

  it('do not judge what comes back from the trash, or a ref that was moved by path, and list its problems', async () => {
    const state = { ...validState('late'), properties: { type: 'late' } }
    const id = await nodeWith(state)
    await ann.delete(`${nodes()}/${id}`).then(expecting(204))
    await define('late', { ...rules, enforcement: 'strict' })
    await ann.post(`/orgs/${ann.org}/trash/${id}/restore`).then(expecting(200))
    const git = gitIn(grove, ann.org, id)
    const files = { 'node.json': `${JSON.stringify({ title: 'Dish', properties: { type: 'late', serves: 'x' } })}\n` }
    const listed = async () => {
      const { problems } = (await ann.get(`/orgs/${ann.org}/types/late/problems`).then(expecting(200))).body
      return problems.map(({ problems: own }: { problems: { msg: string }[] }) => own.map(({ msg }) => msg))
    }
    expect(await listed()).to.deep.equal([['properties.serves is missing']])
    git.point('main', git.commit({ files, parents: [git.head()] }))
    await ann.get(`${nodes()}/${id}`).then(expecting(200))
    expect(await listed()).to.deep.equal([['properties.serves must be a whole number; it is the text "x"']])
  })

  it.deep('list the same problems after the index is rebuilt', async () => {
    const answers = async () => {
      const { types } = (await ann.get(`/orgs/${ann.org}/types?limit=100`).then(expecting(200))).body
      const paths = types.map(({ name }: { name: string }) => `types/${name}/problems?limit=200`)
      const bodies = []
      for (const path of ['types?limit=100', ...paths])
        bodies.push((await ann.get(`/orgs/${ann.org}/${path}`).then(expecting(200))).body)
      return bodies
    }
    const before = await answers()
    expect(before.flatMap(({ problems = [] }) => problems)).to.not.have.length(0)
    const { code, stderr } = await runCommand(['reindex'], {
      ...process.env,
      DATA_DIR: grove.dataDir,
      LOG_LEVEL: 'warn',
    })
    expect(code, stderr).to.equal(0)
    expect(await answers()).to.deep.equal(before)
  })

  it('hold while a type changes beside 50 writers: each node follows it, or is a listed problem', async () => {
    const typeOf = (kind: string) => ({ enforcement: 'strict', schema: { properties: { value: { type: kind } } } })
    await define('moving', typeOf('string'))
    const statuses = new Set<number>()
    const kinds = ['integer', 'string', 'integer']
    const changing = async () => {
      for (const kind of kinds) await define('moving', typeOf(kind))
    }
    const writing = Array.from({ length: 50 }, async (_, n) => {
      const properties = { type: 'moving', value: n % 2 === 0 ? n : String(n) }
      const { status } = await ann.post(nodes(), { title: `Moving ${n}`, properties })
      statuses.add(status)
    })
    await Promise.all([changing(), ...writing])
    expect([...statuses].filter((status) => status !== 201 && status !== 422)).to.deep.equal([])
    const where = encodeURIComponent('type:moving')
    const all: { id: string; properties: { value: unknown } }[] = (
      await ann.get(`${nodes()}?where=${where}&limit=100`).then(expecting(200))
    ).body.nodes
    const { problems } = (await ann.get(`/orgs/${ann.org}/types/moving/problems?limit=100`).then(expecting(200))).body
    const wrong = all.filter(({ properties }) => typeof properties.value === 'string').map(({ id }) => id)
    expect(problems.map(({ node_id }: { node_id: string }) => node_id)).to.have.members(wrong)
  })
})
