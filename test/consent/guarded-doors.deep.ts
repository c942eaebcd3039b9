/** Every door through which pages come to a place or leave it, by rules and roles. */

import { expect } from 'chai'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import type { Client, PersonClient } from '../support/people.ts'
import { ended, sendZip, zipOf } from '../support/uploads.ts'
import { ann, bob, gitIn, grove, kim, max, rae, setRules, useDoors, withToken } from './doors.ts'

/** `done`, the code of a refusal, or the reason that git or an import shows. */
type Outcome = string
type Try = (by: Client & Pick<PersonClient, 'session'>) => Promise<Outcome>

interface Door {
  /** The least role without rules. */
  readonly role: 'editor' | 'maintainer'
  /** Prepares a try below a page, before there are rules. */
  readonly prepare: (area: TestNode) => Promise<Try>
  /** What a guarded place answers. */
  readonly refusal?: RegExp
  /** False for a door that only leads into a part. */
  readonly isEverywhere?: boolean
}

const rest = ({ status, body }: { status: number; body: { code?: string } }): Outcome =>
  status < 300 ? 'done' : (body.code ?? String(status))
const nodes = () => `/orgs/${ann.org}/nodes`
const title = 'Squid'
const parentFile = (area: TestNode) => ({ action: 'put', path: `parents/${area.id}.json`, content: '{}' })
const commitTo =
  ({ at }: TestNode, changes: object[], more = {}) =>
  (by: Client) =>
    by.post(`${at}/tree/main/commits`, { message: 'Direct', changes, ...more }).then(rest)

/** Writes a commit with a title and a parent as $c. */
const tree = (area: TestNode, parent: string) => `
  n=$(echo '{"title":"Squid"}' | git hash-object -w --stdin); p=$(echo '{}' | git hash-object -w --stdin)
  t=$(printf "100644 blob $p\\t${area.id}.json\\n" | git mktree)
  t=$(printf "100644 blob $n\\tnode.json\\n040000 tree $t\\tparents\\n" | git mktree); c=$(git commit-tree ${parent} -m X $t)`
const push =
  (node: TestNode, area: TestNode, parent: string): Try =>
  async ({ session }) => {
    const script = `${tree(area, parent)}; git push -q $REMOTE $c:refs/heads/main`
    const { code, text } = await gitIn(node, session.accessToken, script)
    return code === 0 ? 'done' : text
  }
const byGit =
  /\((pages below Handbook|new pages) need a proposal\)|need the (editor|contributor) role|Contributors can change only/

const doors: Readonly<Record<string, Door>> = {
  createNode: {
    role: 'editor',
    prepare:
      async ({ id }) =>
      (by) =>
        by.post(nodes(), { title, parents: [id] }).then(rest),
  },
  'POST batch, through another new page': {
    role: 'editor',
    prepare:
      async ({ id }) =>
      (by) => {
        const batch = [
          { ref: 'below', title, parents: ['above'] },
          { ref: 'above', title, parents: [id] },
        ]
        return by.post(`${nodes()}/batch`, { nodes: batch }).then(rest)
      },
  },
  'PUT batch, of a new page': {
    role: 'editor',
    prepare:
      async ({ id }) =>
      (by) =>
        by.put(`${nodes()}/batch`, { nodes: [{ ref: 'a', title, parents: [id] }] }).then(rest),
  },
  'PUT batch, of an existing page': {
    role: 'editor',
    prepare: async ({ id }) => {
      const node = await newNode(grove, ann)
      return (by) => by.put(`${nodes()}/batch`, { nodes: [{ id: node.id, parents: [id] }] }).then(rest)
    },
    isEverywhere: false,
  },
  copy: {
    role: 'editor',
    prepare: async ({ id }) => {
      const node = await newNode(grove, ann, { parents: [id] })
      return (by) => by.post(`${node.at}/copy`, {}).then(rest)
    },
  },
  'the first commit': {
    role: 'editor',
    prepare: async (area) => {
      const node = await newNode(grove, ann, { initialize: false })
      return commitTo(node, [parentFile(area)], { expected_head: null })
    },
  },
  'the first push': {
    role: 'editor',
    prepare: async (area) => push(await newNode(grove, ann, { initialize: false }), area, ''),
    refusal: byGit,
  },
  'the first branch': {
    role: 'editor',
    prepare: async (area) => {
      const node = await newNode(grove, ann, { initialize: false })
      await gitIn(node, ann.session.accessToken, `${tree(area, '')}; git push -q $REMOTE $c:refs/heads/draft`)
      return (by) => by.post(`${node.at}/branches`, { name: 'main', from: 'draft' }).then(rest)
    },
  },
  putParent: {
    role: 'editor',
    prepare: async ({ id }) => {
      const node = await newNode(grove, ann)
      return (by) => by.put(`${node.at}/parents/${id}`, {}).then(rest)
    },
    isEverywhere: false,
  },
  'a commit that adds a parent': {
    role: 'editor',
    prepare: async (area) => commitTo(await newNode(grove, ann), [parentFile(area)]),
    isEverywhere: false,
  },
  'a push that adds a parent': {
    role: 'editor',
    prepare: async (area) => push(await newNode(grove, ann), area, '-p main'),
    refusal: byGit,
    isEverywhere: false,
  },
  'a version with the parent': {
    role: 'editor',
    prepare: async (area) => {
      const node = await newNode(grove, ann, { parents: [area.id] })
      const commit = node.git.head()
      await ann.delete(`${node.at}/parents/${area.id}`).then(expecting(204))
      return (by) => by.post(`${node.at}/branches/main/restore`, { commit }).then(rest)
    },
    isEverywhere: false,
  },
  deleteNode: {
    role: 'maintainer',
    prepare: async ({ id }) => {
      const node = await newNode(grove, ann, { parents: [id] })
      return (by) => by.delete(node.at).then(rest)
    },
  },
  'deleteNode, of a page between': {
    role: 'maintainer',
    prepare: async ({ id }) => {
      const node = await newNode(grove, ann, { parents: [id] })
      await newNode(grove, ann, { parents: [node.id] })
      return (by) => by.delete(node.at).then(rest)
    },
    refusal: /^(pull_request_required|rule_would_end|forbidden)$/,
  },
  'deleteNode, of the page of the rule': {
    role: 'maintainer',
    prepare:
      async ({ at }) =>
      (by) =>
        by.delete(at).then(rest),
  },
  restoreNode: {
    role: 'maintainer',
    prepare: async ({ id }) => {
      const node = await newNode(grove, ann, { parents: [id] })
      await ann.delete(node.at).then(expecting(204))
      return (by) => by.post(`/orgs/${ann.org}/trash/${node.id}/restore`).then(rest)
    },
  },
}

describe('a door to a place', () => {
  useDoors()

  const required = /^(pull_request_required|forbidden)$/
  const area = () => newNode(grove, ann, { title: 'Handbook' })
  const rule = { branches: ['main'], approvals: 1 }
  const people = () => [ann, max, bob, kim, rae]

  for (const [name, { role, prepare, refusal = required, isEverywhere = true }] of Object.entries(doors))
    describe(name, () => {
      const least = () => (role === 'editor' ? bob : max)

      for (const scope of isEverywhere ? ['below a page', 'everywhere'] : ['below a page'])
        it(`is closed ${scope} for all roles by a rule for all pages`, async () => {
          const top = await area()
          const attempt = await prepare(top)
          const under = scope === 'everywhere' ? {} : { under: top.id }
          const count = async () => (await ann.get(nodes()).then(expecting(200))).body.total
          const before = await count()
          await setRules({ branches: ['release/*'], pages: 'all' }, { ...rule, ...under, pages: 'all' })
          for (const by of people()) expect(await attempt(by), by.user.name).to.match(refusal)
          const script = { ...(await withToken(least())), session: least().session }
          expect(await attempt(script), 'a token').to.match(refusal)
          expect(await count()).to.equal(before)
          await setRules()
          expect(await attempt(least())).to.equal('done')
        })

      it('is open by a rule for another part, or for other branches', async () => {
        const attempt = await prepare(await area())
        await setRules({ ...rule, under: (await area()).id, pages: 'all' }, { branches: ['release/*'], pages: 'all' })
        expect(await attempt(least())).to.equal('done')
      })

      if (name !== 'deleteNode, of a page between')
        it('is open by a rule for existing pages, and by require_pull_requests if the page is not changed', async () => {
          const top = await area()
          const [one, other] = [await prepare(top), await prepare(await area())]
          await setRules({ ...rule, under: top.id, pages: 'existing' })
          expect(await one(least())).to.equal('done')
          await setRules()
          await ann.patch(`/orgs/${ann.org}`, { require_pull_requests: true }).then(expecting(200))
          const outcome = await other(least())
          if (isEverywhere) expect(outcome).to.equal('done')
          else expect(outcome).to.match(/^pull_request_required$|moves only to the head/)
        })
    })

  it('of an import refuses pages below a refused one also in later slices', async () => {
    const org = (await ann.post('/orgs', { name: 'Slices' }).then(expecting(201))).body.id
    const files = { 'Sea/krill.md': '# Krill\n' }
    await ended(ann, org, (await sendZip(ann, org, await zipOf(files)).then(expecting(202))).body.id)
    const { body } = await ann.get(`/orgs/${org}/nodes`).then(expecting(200))
    const { id: under } = body.nodes.find((node: { title: string }) => node.title === 'Sea')
    await ann.patch(`/orgs/${org}`, { rules: [{ ...rule, under }] }).then(expecting(200))
    const many = Array.from({ length: 1_002 }, (_, at) => [`Sea/New/${at}.md`, `# Page ${at}\n`])
    const zip = await zipOf({ ...files, 'Sea/New/index.md': '# New\n', ...Object.fromEntries(many) })
    const { report } = await ended(ann, org, (await sendZip(ann, org, zip).then(expecting(202))).body.id)
    expect(report?.created).to.deep.equal([])
    expect((await ann.get(`/orgs/${org}/nodes`)).body.total).to.equal(body.total)
  })

  it('of an import refuses each page with those below it, and writes the others', async () => {
    const top = await area()
    const zip = await zipOf({ 'Sea/krill.md': '# Krill\n', 'Sea/Deep/squid.md': '# Squid\n', 'Land/fox.md': '# Fox\n' })
    const first = await ended(ann, ann.org, (await sendZip(ann, ann.org, zip).then(expecting(202))).body.id)
    expect(first.report?.problems).to.deep.equal([])
    const { body } = await ann.get(`${nodes()}?limit=200`).then(expecting(200))
    const sea = body.nodes.find((node: { title: string }) => node.title === 'Sea')
    await setRules({ ...rule, under: sea.id, pages: 'all' }, { ...rule, under: top.id, pages: 'all' })
    const more = await zipOf({
      ...{ 'Sea/krill.md': '# Krill\n', 'Sea/Deep/squid.md': '# Squid\n', 'Land/fox.md': '# Fox\n' },
      ...{ 'Sea/New/index.md': '# New\n', 'Sea/New/below.md': '# Below\n', 'Land/hare.md': '# Hare\n' },
    })
    const again = await ended(bob, ann.org, (await sendZip(bob, ann.org, more).then(expecting(202))).body.id)
    expect(again.report?.created.map(({ path }) => path)).to.deep.equal(['Land/hare.md'])
    const refused = again.report?.problems.map(({ path, reason }) => [path, reason.split(':')[0]])
    const reason = 'Pages below “Sea” are created by a proposal here'
    expect(refused).to.deep.equal([
      ['Sea/New/index.md', reason],
      ['Sea/New/below.md', reason],
    ])
  })
})
