/** Pushes of typed content: what git shows. */

import { expect } from 'chai'
import { type Desk, newDesk, remoteUrl } from '../support/desk.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { useWorld } from '../support/world.ts'

const schema = { required: ['serves'], properties: { serves: { type: 'integer' }, due: { format: 'date' } } }

describe('git: pushes of typed content', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let desk: Desk
  before(async () => {
    desk = await newDesk()
    await define('person', {})
    await define('recipe', { enforcement: 'strict', schema, connections: { written_by: { to: ['person'], max: 1 } } })
    await define('note', { schema, connections: { about: { min: 1 } } })
    const many = Object.fromEntries(Array.from({ length: 25 }, (_, n) => [`p${n}`, { type: 'integer' }]))
    await define('sheet', { schema: { properties: many } })
  })
  after(() => desk.remove())

  const define = (name: string, definition: object) =>
    ann.put(`/orgs/${ann.org}/types/${name}`, { definition: { title: name, ...definition } }).then(expecting(200))
  const cloned = async (node: TestNode, folder: string): Promise<string> => {
    const REMOTE = remoteUrl(grove, node.org, node.id, ann.session.accessToken)
    await desk.done(`git clone -q $REMOTE ${folder} 2>&1 | grep -v 'empty repository' || true`, { REMOTE })
    return folder
  }
  /** Commits files and pushes them. Returns the exit code and the lines about the push. */
  const push = async (folder: string, files: Readonly<Record<string, string>>, refs = 'HEAD:main') => {
    const writing = Object.entries(files).map(
      ([path, text]) => `mkdir -p "$(dirname ${path})"; cat > ${path} <<'END'\n${text}\nEND`,
    )
    const script = `cd ${folder}; ${writing.join('\n')}\ngit add -A; git commit -q -m Change; git push -q origin ${refs}`
    const { code, text } = await desk.sh(script)
    return { code, lines: text.split('\n').filter((line) => /^remote: |^ ! /.test(line)) }
  }
  const json = (properties: object) => JSON.stringify({ title: 'Dish', properties }, null, 2)

  it.deep('of a strict type are refused with the file, the line and the reason', async () => {
    const node = await newNode(grove, ann, { properties: { type: 'recipe', serves: 4 } })
    const folder = await cloned(node, 'strict')
    const head = node.git.head()
    const told = 'node.json: line 5: properties.serves must be a whole number; it is the text "four" (type recipe)'
    expect(await push(folder, { 'node.json': json({ type: 'recipe', serves: 'four' }) })).to.deep.equal({
      code: 1,
      lines: [`remote: main: ${told}`, ` ! [remote rejected] HEAD -> main (${told})`],
    })
    const missing = 'node.json: line 3: properties.serves is missing (type recipe)'
    const again = await push(folder, { 'node.json': json({ type: 'recipe' }) })
    expect(again.lines).to.deep.equal([`remote: main: ${missing}`, ` ! [remote rejected] HEAD -> main (${missing})`])
    const other = await newNode(grove, ann, { properties: { type: 'recipe', serves: 2 } })
    const edge = await push(folder, {
      'node.json': json({ type: 'recipe', serves: 4 }),
      'connections/a.json': JSON.stringify({ target: other.id, type: 'written_by' }),
    })
    const wrong = `connections.written_by must have nodes of type "person" at the other end; connection a leads to a node of type "recipe" (type recipe)`
    expect(edge.lines).to.deep.equal([`remote: main: ${wrong}`, ` ! [remote rejected] HEAD -> main (${wrong})`])
    expect(node.git.head()).to.equal(head)
    expect(await push(folder, { draft: 'Drafts may be incomplete' }, 'HEAD:refs/heads/draft')).to.deep.equal({
      code: 0,
      lines: [],
    })
  })

  it.deep('of a strict type are refused in an atomic push with other refs, which then stay', async () => {
    const node = await newNode(grove, ann, { properties: { type: 'recipe', serves: 4 } })
    const folder = await cloned(node, 'atomic')
    const { code, lines } = await push(
      folder,
      { 'node.json': json({ type: 'recipe' }) },
      '--atomic HEAD:side HEAD:main HEAD:refs/tags/one',
    )
    expect(code).to.equal(1)
    expect(lines).to.include('remote: main: node.json: line 3: properties.serves is missing (type recipe)')
    for (const ref of ['side', 'one'])
      expect(lines.join('\n')).to.include(`HEAD -> ${ref} (refs/heads/main was refused`)
    expect(node.git.lines('for-each-ref', '--format=%(refname)', 'refs/heads', 'refs/tags')).to.deep.equal([
      'refs/heads/main',
    ])
    const some = await push(folder, { a: 'a' }, 'HEAD:side HEAD:main')
    expect(some.code).to.equal(1)
    expect(node.git.lines('branch', '--list', 'side')).to.deep.equal(['  side'])
  })

  it.deep('of an advisory type are stored, and git shows a warning for each new fault', async () => {
    const node = await newNode(grove, ann, { properties: { type: 'note' } })
    const folder = await cloned(node, 'advisory')
    const properties = { type: 'note', due: 'soon' }
    expect(await push(folder, { 'node.json': json(properties) })).to.deep.equal({
      code: 0,
      lines: [
        'remote: warning: node.json: line 5: properties.due must be a date, such as 2026-12-31; it is the text "soon" (type note)',
      ],
    })
    expect(await push(folder, { 'content.md': 'Old faults stay' })).to.deep.equal({ code: 0, lines: [] })
    expect(await push(folder, { 'node.json': json({ type: 'note', due: 'later' }) }, 'HEAD:side')).to.deep.equal({
      code: 0,
      lines: [],
    })
    const { body } = await ann.get(node.at).then(expecting(200))
    expect(body.type_problems.map(({ rule }: { rule: string }) => rule)).to.deep.equal(['required', 'format', 'min'])
  })

  it('of an advisory type show at most 20 warnings, and the number of the others', async () => {
    const node = await newNode(grove, ann, {})
    const folder = await cloned(node, 'many')
    const texts = Object.fromEntries(Array.from({ length: 25 }, (_, n) => [`p${n}`, 'x']))
    const { code, lines } = await push(folder, { 'node.json': json({ type: 'sheet', ...texts }) })
    expect(code).to.equal(0)
    expect(lines).to.have.length(21)
    expect(lines[19]).to.match(/^remote: warning: node\.json: line 24: properties\.p19 must be/)
    expect(lines[20]).to.equal('remote: warning: and 5 more')
  })

  it.deep('are judged when they give a node its first commit', async () => {
    const node = await newNode(grove, ann, { initialize: false })
    const folder = await cloned(node, 'empty')
    const refused = await push(folder, { 'node.json': json({ type: 'recipe' }) })
    expect(refused.lines[0]).to.equal('remote: main: node.json: line 3: properties.serves is missing (type recipe)')
    expect(await push(folder, { 'node.json': json({ type: 'sheet', p3: true }) })).to.deep.equal({
      code: 0,
      lines: ['remote: warning: node.json: line 5: properties.p3 must be a whole number; it is true (type sheet)'],
    })
  })
})
