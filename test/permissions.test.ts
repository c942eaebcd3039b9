import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { gitIn } from './support/git.ts'
import { type Answer, client, type Grove, signUp, startGrove } from './support/grove.ts'
import {
  attemptOf,
  callers,
  castFor,
  expectedSecurity,
  expectedStatus,
  made,
  makeOrg,
  send,
  specOperations,
  table,
  type World,
  worldOf,
} from './support/permissions.ts'

const signInFirst = { status: 401, body: { detail: 'Sign in first', code: 'unauthenticated' } }
const signInToSee = { status: 401, body: { detail: 'Sign in to see this', code: 'unauthenticated' } }
const badToken = { status: 401, body: { detail: 'The token is bad, expired or revoked', code: 'invalid_token' } }
const noOrg = { status: 404, body: { detail: 'Organisation not found', code: 'org_not_found' } }
const noNode = { status: 404, body: { detail: 'Node not found', code: 'node_not_found' } }

describe('permissions', () => {
  let grove: Grove
  let hidden: World
  let open: World

  before(async () => {
    grove = await startGrove()
    const cast = await castFor(grove)
    hidden = await worldOf(cast, false)
    open = await worldOf(cast, true)
  })
  after(() => grove.close())

  describe('each operation', () => {
    it('of the spec has a row in the table, and each row an operation', () => {
      expect(Object.keys(table).sort()).to.deep.equal(specOperations.map(({ id }) => id).sort())
    })

    it('says in the spec what the table says of Authorization', () => {
      const inSpec = specOperations.map(({ id, security }) => [id, security])
      expect(inSpec).to.deep.equal(specOperations.map(({ id }) => [id, expectedSecurity(id)]))
    })

    for (const published of [false, true]) {
      describe(`under ${published ? 'a published' : 'an unpublished'} organisation`, () => {
        for (const operation of specOperations) {
          const { id, path, success } = operation
          if (published && !path.includes('{org_id}')) continue
          const { need } = table[id]
          const statuses = callers.map((caller) => [caller, expectedStatus(need, caller, published, success)] as const)

          it(`${id} answers ${statuses.map(([caller, status]) => `${caller} ${status}`).join(', ')}`, async () => {
            const world = published ? open : hidden
            // Who may do it first does what the others were refused: had it happened all the same, it would not succeed.
            let attempt = await attemptOf(id, world)
            const answered: [string, number][] = []
            for (const caller of callers) {
              const { status } = await send(world.people[caller], operation, attempt)
              answered.push([caller, status])
              if (status === success) attempt = await attemptOf(id, world)
            }
            expect(answered).to.deep.equal(statuses)
          })
        }
      })
    }
  })

  describe('what is hidden', () => {
    const unknownOrgs = ['01980a5e-7c41-7d02-8c1b-5e2f7a9b4c02', 'nonsense', '../orgs']

    for (const operation of specOperations.filter(({ path }) => path.includes('{org_id}'))) {
      const { id } = operation

      it(`${id} tells neither the anonymous nor a stranger an unpublished organisation from an unknown one`, async () => {
        const attempt = await attemptOf(id, hidden)
        const { anonymous, stranger } = hidden.people
        const expected = operation.security === 'none' ? noOrg : signInFirst
        for (const org of [attempt.org ?? '', ...unknownOrgs]) {
          const byAnonymous = await send(anonymous, operation, { ...attempt, org })
          expect(byAnonymous, `anonymous, ${org}`).to.deep.equal(
            operation.security === 'optional' ? signInToSee : expected,
          )
          expect(await send(stranger, operation, { ...attempt, org }), `stranger, ${org}`).to.deep.equal(noOrg)
        }
      })
    }

    for (const operation of specOperations.filter(({ path }) => path.includes('{node_id}'))) {
      const { id } = operation

      it(`${id} does not find a node of another organisation, nor one that nobody has`, async () => {
        const attempt = await attemptOf(id, hidden)
        const { owner, org } = open
        expect(await send(owner, operation, { ...attempt, org })).to.deep.equal(noNode)
        for (const node_id of [randomUUID(), 'nonsense', '../org', 'org']) {
          const nowhere = { ...attempt, org, params: { ...attempt.params, node_id } }
          expect(await send(owner, operation, nowhere), node_id).to.deep.equal(noNode)
        }
      })
    }

    it('is no edge to a node of another organisation', async () => {
      const foreign = hidden.node
      const { owner, org, node } = open
      const at = `/orgs/${org}/nodes/${node}`
      const answers: [string, Answer][] = [
        ['parents', await owner.post(`/orgs/${org}/nodes`, { title: 'Child', parents: [foreign] })],
        ['parent', await owner.put(`${at}/parents/${foreign}`)],
        ['connection', await owner.post(`${at}/connections`, { target: foreign })],
        ['children', await owner.get(`/orgs/${org}/nodes?parent_id=${foreign}`)],
      ]
      expect(answers.map(([what, { status, body }]) => [what, status, body.code ?? body.total])).to.deep.equal([
        ['parents', 422, undefined],
        ['parent', 404, 'parent_not_found'],
        ['connection', 422, undefined],
        ['children', 200, 0],
      ])
    })
  })

  describe('a bad token', () => {
    for (const operation of specOperations) {
      const { id, security, success } = operation

      if (security === 'none') {
        it(`is ignored by ${id}, which never looks at Authorization`, async () => {
          const attempt = await attemptOf(id, open)
          expect((await send(client(grove, 'garbage'), operation, attempt)).status).to.equal(success)
        })
      } else {
        it(`is 401 at ${id}, whatever else is wrong, and never taken for anonymous`, async () => {
          const nobody = { org: open.org, params: { node_id: open.node }, query: '?nonsense=1', body: '{' }
          const answer = await send(client(grove, 'garbage'), operation, nobody)
          expect(answer).to.deep.equal(badToken)
          expect(answer.headers['www-authenticate']).to.equal('Bearer error="invalid_token"')
        })
      }
    }

    it('is one of another service, an id token, another scheme, or none at all after Bearer', async () => {
      const other = await startGrove()
      try {
        const { session } = await signUp(other, 'Zoe')
        const { accessToken, idToken } = open.owner.session
        const sent = [
          `Bearer ${session.accessToken}`,
          `Bearer ${idToken}`,
          `Basic ${accessToken}`,
          'Bearer',
          accessToken,
        ]
        for (const authorization of sent) {
          const { anonymous } = open.people
          expect(await anonymous.get(`/orgs/${open.org}`, { authorization }), authorization).to.deep.equal(badToken)
        }
      } finally {
        await other.close()
      }
    })
  })

  describe('the order of checks', () => {
    for (const operation of specOperations) {
      const { id, security } = operation
      const { need } = table[id]

      if (security === 'required') {
        it(`${id}: a missing token comes before a wrong shape`, async () => {
          const answer = await send(client(grove), operation, { query: '?nonsense=1', body: '{' })
          expect(answer).to.deep.equal(signInFirst)
          expect(answer.headers['www-authenticate']).to.equal('Bearer')
        })
      }

      if (need === 'anyone' || need === 'person') continue
      it(`${id}: a wrong shape comes before whether there is an organisation, and who may see it`, async () => {
        const attempt = { org: hidden.org, query: '?nonsense=1', body: {} }
        const { anonymous, stranger, reader } = hidden.people
        const extra = {
          status: 422,
          body: {
            detail: [
              {
                loc: ['query', 'nonsense'],
                msg: 'Extra inputs are not permitted',
                type: 'extra_forbidden',
                input: '1',
              },
            ],
          },
        }
        for (const who of security === 'required' ? [stranger, reader] : [anonymous, stranger, reader]) {
          expect(await send(who, operation, attempt)).to.deep.equal(extra)
        }
      })
    }

    it('lets nobody who is anonymous ask what exists in an unpublished organisation', async () => {
      const { anonymous } = hidden.people
      expect(await anonymous.get(`/orgs/${hidden.org}/nodes/${randomUUID()}`)).to.deep.equal(signInToSee)
      expect(await anonymous.get(`/orgs/${open.org}/nodes/${randomUUID()}`)).to.deep.equal(noNode)
    })

    for (const operation of specOperations.filter(({ path }) => path.includes('{node_id}'))) {
      const { id } = operation
      if (table[id].need === 'public') continue

      it(`${id}: a node that is not there is 404 before a right that is not there is 403`, async () => {
        const attempt = await attemptOf(id, open)
        const nowhere = { ...attempt, params: { ...attempt.params, node_id: randomUUID() } }
        expect(await send(open.people.reader, operation, nowhere)).to.deep.equal(noNode)
        expect(await send(open.people.stranger, operation, nowhere)).to.deep.equal(noNode)
      })
    }

    it('says 403 before it says which rule is broken', async () => {
      const { org, node } = open
      const nodes = `/orgs/${org}/nodes`
      const at = `${nodes}/${node}`
      const changes = [{ action: 'delete', path: 'nowhere.md' }]
      const broken: [string, string, unknown?][] = [
        ['post', nodes, { title: 'Child', parents: [randomUUID()] }],
        ['post', nodes, { title: 'Empty', initialize: false, text_content: 'Not empty' }],
        ['put', `${at}/parents/${node}`],
        ['delete', `${at}/parents/nonsense`],
        ['post', `${at}/connections`, { target: node }],
        ['post', `${at}/connections`, { target: 'nonsense' }],
        ['patch', `${at}/connections/n%20o`, { target: node }],
        ['delete', `${at}/connections/n%20o`],
        ['post', `${at}/branches`, { name: '-', from: 'nowhere' }],
        ['post', `${at}/tree/main/commits`, { message: 'Delete', changes }],
        ['post', `${at}/pull-requests`, { title: 'More', source_branch: 'nowhere' }],
        ['patch', `${at}/pull-requests/1`, { target_branch: 'nowhere' }],
      ]
      const { reader } = open.people
      const answers: unknown[] = []
      for (const [method, path, body] of broken) {
        const { status } = await (method === 'put'
          ? reader.put(path, body)
          : method === 'patch'
            ? reader.patch(path, body)
            : method === 'delete'
              ? reader.delete(path)
              : reader.post(path, body))
        answers.push([method, path, status])
      }
      expect(answers).to.deep.equal(broken.map(([method, path]) => [method, path, 403]))
    })

    it('says which rule is broken before it says what is in the way', async () => {
      const { owner, org, node } = open
      const again = { title: 'Again', id: node, parents: [randomUUID()] }
      const opened = { title: 'More', source_branch: 'draft', target_branch: 'nowhere' }
      const at = `/orgs/${org}/nodes/${node}`
      expect([
        (await owner.post(`/orgs/${org}/nodes`, again)).status,
        (await owner.post(`${at}/branches`, { name: 'draft', from: 'nowhere' })).status,
        (await owner.post(`${at}/pull-requests`, opened)).status,
      ]).to.deep.equal([422, 422, 422])
    })
  })

  describe('membership', () => {
    let world: World

    beforeEach(async () => {
      const org = await makeOrg(open, false)
      const { id } = await made(open.owner.post(`/orgs/${org}/nodes`, { title: 'Whales' }))
      world = { ...open, org, node: id, published: false }
    })

    it('ends with the next request, though the token lives on', async () => {
      const { owner, members, org, node } = world
      const { editor } = members
      const at = `/orgs/${org}/nodes/${node}`
      expect((await editor.patch(at, { title: 'Dolphins' })).status).to.equal(200)
      expect((await owner.delete(`/orgs/${org}/members/${editor.user.email}`)).status).to.equal(204)
      expect(await editor.get(at)).to.deep.equal(noOrg)
      expect(await editor.patch(at, { title: 'Seals' })).to.deep.equal(noOrg)
      expect((await editor.get('/auth/me')).status).to.equal(200)
    })

    it('in a published organisation ends in what the public may do', async () => {
      const { owner, members, org, node } = world
      const { editor } = members
      const at = `/orgs/${org}/nodes/${node}`
      await made(owner.patch(`/orgs/${org}`, { published: true }))
      await made(owner.delete(`/orgs/${org}/members/${editor.user.email}`))
      expect((await editor.get(at)).status).to.equal(200)
      expect(await editor.patch(at, { title: 'Seals' })).to.deep.equal({
        status: 403,
        body: { detail: 'This is for members of the organisation', code: 'forbidden' },
      })
    })

    it('changes its role with the next request', async () => {
      const { owner, members, org, node } = world
      const { editor } = members
      const at = `/orgs/${org}/nodes/${node}`
      const become = (role: string) => made(owner.put(`/orgs/${org}/members/${editor.user.email}`, { role }))
      await become('reader')
      expect(await editor.patch(at, { title: 'Seals' })).to.deep.equal({
        status: 403,
        body: { detail: 'This needs the role editor; yours is reader', code: 'forbidden' },
      })
      await become('maintainer')
      expect((await editor.delete(at)).status).to.equal(204)
    })
  })

  describe('the public of a published organisation', () => {
    /** `draft` has draft.md; the tag `v1` a commit that is on no branch, with tagged.md. */
    let at: string
    let draftCommit: string
    const blobs: Record<'main' | 'draft' | 'tagged' | 'ledger', string> = {
      main: '',
      draft: '',
      tagged: '',
      ledger: '',
    }
    const readers = () => [open.people.anonymous, open.people.stranger]

    before(async () => {
      const { owner, org } = open
      const node = await made(
        owner.post(`/orgs/${org}/nodes`, { title: 'Whales', text_content: 'Whales are mammals.' }),
      )
      at = `/orgs/${org}/nodes/${node.id}`
      const commitOn = async (branch: string) => {
        await made(owner.post(`${at}/branches`, { name: branch }))
        const changes = [{ action: 'put', path: `${branch}.md`, content: `Of ${branch}` }]
        const { id, changes: diff } = await made(
          owner.post(`${at}/tree/${branch}/commits`, { message: branch, changes }),
        )
        return [id, diff.added[0].object_id]
      }
      const [tagged, taggedBlob] = await commitOn('tagged')
      const [draft, draftBlob] = await commitOn('draft')
      const git = gitIn(grove, org, node.id)
      git.say('update-ref', 'refs/tags/v1', tagged)
      await made(owner.delete(`${at}/branches/tagged`))
      draftCommit = draft
      const main = await made(owner.get(`${at}/tree/main/files/content.md`))
      const ledger = git.say('rev-parse', 'refs/grove/ledger:node.json')
      Object.assign(blobs, { main: main.object_id, draft: draftBlob, tagged: taggedBlob, ledger })
    })

    it('sees main in the list of branches, and no other', async () => {
      const asMember = await made(open.owner.get(`${at}/branches`))
      const [main] = asMember.branches.filter((branch: { name: string }) => branch.name === 'main')
      expect(asMember.total).to.equal(2)
      for (const reader of readers()) {
        expect(await reader.get(`${at}/branches`)).to.deep.equal({
          status: 200,
          body: { branches: [main], total: 1, limit: 50, offset: 0 },
        })
      }
    })

    it('finds nothing of another branch, exactly as if it did not exist', async () => {
      for (const reader of readers()) {
        for (const path of [
          'branches/BRANCH',
          'tree/BRANCH',
          'tree/BRANCH/files/draft.md',
          'tree/BRANCH/commits',
          `tree/BRANCH/commits/${draftCommit}`,
        ]) {
          const answer = await reader.get(`${at}/${path.replace('BRANCH', 'draft')}`)
          expect(answer, path).to.deep.equal({
            status: 404,
            body: { detail: 'Branch not found', code: 'branch_not_found' },
          })
          expect(await reader.get(`${at}/${path.replace('BRANCH', 'nowhere')}`), path).to.deep.equal(answer)
        }
      }
    })

    it('finds no commit of another branch, neither on main nor in a comparison', async () => {
      for (const reader of readers()) {
        expect((await reader.get(`${at}/tree/main/commits/${draftCommit}`)).body.code).to.equal('commit_not_found')
        for (const head of ['draft', draftCommit, draftCommit.slice(0, 10)]) {
          expect((await reader.get(`${at}/compare?base=main&head=${head}`)).status, head).to.equal(404)
        }
      }
    })

    it('sees tags, and compares with them', async () => {
      for (const reader of readers()) {
        expect((await made(reader.get(`${at}/tags`))).tags).to.have.length(1)
        expect((await made(reader.get(`${at}/compare?base=main&head=v1`))).commits_ahead).to.equal(1)
      }
    })

    it('reads the bytes that main or a tag has, and no others', async () => {
      for (const reader of readers()) {
        const statuses = Object.entries(blobs).map(async ([of, oid]) => [
          of,
          (await reader.get(`${at}/objects/${oid}`)).status,
        ])
        expect(Object.fromEntries(await Promise.all(statuses))).to.deep.equal({
          main: 200,
          draft: 404,
          tagged: 200,
          ledger: 404,
        })
      }
    })

    it('sees no role in the organisation', async () => {
      for (const reader of readers()) expect(await made(reader.get(`/orgs/${open.org}`))).to.not.have.property('role')
    })
  })
})
