/** Rules of an organisation: set, read, refused, and kept in org.json. */

import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { expect } from 'chai'
import { openSqlite } from '../../index/sqlite/better-sqlite3.ts'
import { cli } from '../operator/desk.ts'
import { gitIn } from '../support/git.ts'
import { expecting } from '../support/node.ts'
import { client } from '../support/people.ts'
import { ann, bob, cleo, grove, newOrg, put, rolesOf, useScene } from './scene.ts'

const defaults = {
  approvals: 0,
  by: { role: 'editor' },
  keep: 'same_change',
  checks: [],
  resolved: false,
  merge: 'editor',
  override: 'owner',
  pages: 'all',
}

describe('rules of an organisation', () => {
  useScene()

  const rulesOf = async (org: string, by = ann) => (await by.api.getOrg({ path: { org_id: org } })).rules
  const set = (org: string, rules: unknown, by = ann) => by.patch(`/orgs/${org}`, { rules })
  const fileOf = (org: string) => JSON.parse(gitIn(grove, org, 'org').say('show', 'main:org.json'))
  /** Commits org.json as another program does. */
  const write = (org: string, file: object) => {
    const git = gitIn(grove, org, 'org')
    const files = { 'org.json': JSON.stringify(file) }
    const parents = [git.say('rev-parse', 'main')]
    git.say('update-ref', 'refs/heads/main', git.commit({ files, parents, message: 'by hand' }))
  }

  it('are set and read with everything that they say', async () => {
    const org = await newOrg()
    await put(org, bob, 'reader')
    const { id } = await ann.node({}, org)
    const rules = [
      {
        branches: ['main', 'release/**'],
        under: id,
        approvals: 2,
        by: { role: 'maintainer', people: [bob.user.id] },
        keep: 'same_commit',
        checks: [{ name: 'links', from: ann.user.id }, { name: 'spelling' }],
        resolved: true,
        merge: 'maintainer',
        override: 'nobody',
        pages: 'existing',
      },
      { ...defaults, branches: ['**'], by: { people: [bob.user.id] }, approvals: 1 },
    ]
    expect((await set(org, rules).then(expecting(200))).body.rules).to.deep.equal(rules)
    expect(await rulesOf(org, bob)).to.deep.equal(rules)
    expect(fileOf(org).rules).to.deep.equal(rules)
    await ann.patch(`/orgs/${org}`, { name: 'Oceans', published: true }).then(expecting(200))
    expect(await rulesOf(org)).to.deep.equal(rules)
  })

  it('have defaults, and no list without users opens a branch to others', async () => {
    const org = await newOrg({ rules: [{ branches: ['main'] }] })
    expect(await rulesOf(org)).to.deep.equal([{ ...defaults, branches: ['main'] }])
    await set(org, [
      { branches: ['main'], by: {} },
      { branches: ['next'], by: { people: [] } },
    ]).then(expecting(200))
    expect(await rulesOf(org)).to.deep.equal([
      { ...defaults, branches: ['main'] },
      { ...defaults, branches: ['next'], by: { people: [] } },
    ])
    const refused = await set(org, [{ branches: ['next'], approvals: 1, by: { people: [] } }])
    expect(refused.status, 'nobody could approve').to.equal(422)
  })

  it('are replaced as a whole, and removed by an empty list', async () => {
    const org = await newOrg({ rules: [{ branches: ['main'] }, { branches: ['next'] }] })
    await set(org, [{ branches: ['release/*'], resolved: true }]).then(expecting(200))
    expect(await rulesOf(org)).to.deep.equal([{ ...defaults, branches: ['release/*'], resolved: true }])
    await set(org, []).then(expecting(200))
    expect(await rulesOf(org)).to.deep.equal([])
    expect(fileOf(org)).to.not.have.property('rules')
  })

  it('make no commit if they are as before', async () => {
    const org = await newOrg({ rules: [{ branches: ['main'] }] })
    const { body } = await ann.get(`/orgs/${org}`)
    expect(await set(org, [{ branches: ['main'], approvals: 0 }])).to.deep.equal({ status: 200, body })
    expect(gitIn(grove, org, 'org').log()).to.have.length(1)
  })

  it('are read by members only, and set by owners only', async () => {
    const org = await newOrg({ published: true, rules: [{ branches: ['main'] }] })
    await put(org, bob, 'maintainer')
    expect((await client(grove).get(`/orgs/${org}`).then(expecting(200))).body).to.not.have.property('rules')
    expect((await cleo.get(`/orgs/${org}`).then(expecting(200))).body).to.not.have.property('rules')
    expect((await set(org, [], bob)).status).to.equal(403)
    const { orgs } = await ann.api.listOrgs({ query: { limit: 200 } })
    expect(orgs.find(({ id }) => id === org))
      .to.include({ role: 'owner' })
      .and.to.not.have.property('rules')
    expect(await rulesOf(org, bob)).to.have.length(1)
  })

  describe('that break a rule themselves', () => {
    const refusals: readonly [what: string, rule: object, loc: (string | number)[], msg: string][] = [
      [
        'a pattern that no branch can match',
        { branches: ['main', 'a..b'] },
        ['branches', 1],
        "No branch can match this: a branch name cannot contain '..'",
      ],
      ['a pattern twice', { branches: ['main', 'main'] }, ['branches', 1], 'This pattern is in the rule twice'],
      [
        'a check twice',
        { branches: ['main'], checks: [{ name: 'links' }, { name: 'links', from: randomUUID() }] },
        ['checks', 1, 'name'],
        'This check is in the rule twice',
      ],
      [
        'a user who is not a member',
        { branches: ['main'], by: { role: 'owner', people: [randomUUID()] } },
        ['by', 'people', 0],
        'This user is not a member of the organisation',
      ],
      [
        'a source of checks that is not a member',
        { branches: ['main'], checks: [{ name: 'links' }, { name: 'spelling', from: randomUUID() }] },
        ['checks', 1, 'from'],
        'This user is not a member of the organisation',
      ],
      [
        'a node of another organisation',
        { branches: ['main'], under: randomUUID() },
        ['under'],
        'This is not a node of the organisation',
      ],
    ]
    for (const [what, rule, loc, msg] of refusals)
      it(`are 422 for ${what}`, async () => {
        const org = await newOrg()
        const rules = [{ branches: ['**'] }, rule]
        const answers = [await set(org, rules), await ann.post('/orgs', { name: 'Atlas', rules })]
        for (const { status, body } of answers) {
          expect(status).to.equal(422)
          expect(body.detail).to.have.length(1)
          expect(body.detail[0]).to.include({ msg, type: 'value_error' })
          expect(body.detail[0].loc).to.deep.equal(['body', 'rules', 1, ...loc])
        }
        expect(await rulesOf(org)).to.deep.equal([])
      })

    it('are 422 for users whose approvals can never be enough, and for a user twice', async () => {
      const org = await newOrg()
      const by = { people: [ann.user.id, ann.user.id] }
      const { status, body } = await set(org, [{ branches: ['main'], approvals: 2, by }])
      expect([
        status,
        body.detail.map(({ loc, msg }: { loc: string[]; msg: string }) => [loc.join('.'), msg]),
      ]).to.deep.equal([
        422,
        [
          ['body.rules.0.by.people.1', 'This user is in the rule twice'],
          ['body.rules.0.approvals', 'The approval of only 1 user counts, so there can never be 2'],
        ],
      ])
    })

    it('are 422 for every shape beyond the bounds', async () => {
      const org = await newOrg()
      const main = { branches: ['main'] }
      const shapes: readonly [unknown, string][] = [
        [Array(51).fill(main), 'body.rules'],
        [[{}], 'body.rules.0.branches'],
        [[{ branches: [] }], 'body.rules.0.branches'],
        [[{ branches: Array.from({ length: 21 }, (_, n) => `b${n}`) }], 'body.rules.0.branches'],
        [[{ branches: [''] }], 'body.rules.0.branches.0'],
        [[{ branches: ['x'.repeat(201)] }], 'body.rules.0.branches.0'],
        [[{ ...main, approvals: 21 }], 'body.rules.0.approvals'],
        [[{ ...main, approvals: 1.5 }], 'body.rules.0.approvals'],
        [[{ ...main, by: { role: 'boss' } }], 'body.rules.0.by.role'],
        [[{ ...main, by: { people: ['Bob'] } }], 'body.rules.0.by.people.0'],
        [[{ ...main, keep: 'always' }], 'body.rules.0.keep'],
        [[{ ...main, checks: [{ name: 'a\nb' }] }], 'body.rules.0.checks.0.name'],
        [[{ ...main, checks: Array.from({ length: 21 }, (_, n) => ({ name: `c${n}` })) }], 'body.rules.0.checks'],
        [[{ ...main, merge: 'reader' }], 'body.rules.0.merge'],
        [[{ ...main, override: 'editor' }], 'body.rules.0.override'],
        [[{ ...main, sometimes: true }], 'body.rules.0.sometimes'],
      ]
      for (const [rules, loc] of shapes) {
        const { status, body } = await set(org, rules)
        expect([status, body.detail[0].loc.join('.')]).to.deep.equal([422, loc])
      }
      expect(await rulesOf(org)).to.deep.equal([])
    })

    it('are 422 where org.json has no room for them', async () => {
      const org = await newOrg()
      const branches = Array.from({ length: 20 }, (_, n) => `${'x'.repeat(190)}${n}`)
      const { status, body } = await set(org, Array(50).fill({ branches }))
      expect([status, body.detail]).to.deep.equal([
        422,
        [
          {
            loc: ['body', 'rules'],
            msg: 'The rules are too long: with the other settings, they have at most 64 KiB as JSON',
            type: 'value_error',
          },
        ],
      ])
    })
  })

  it('keep users who left and nodes that were deleted, but take no new ones', async () => {
    const org = await newOrg()
    await put(org, bob, 'editor')
    const node = await ann.node({}, org)
    const by = { people: [bob.user.id] }
    const rule = { branches: ['main'], under: node.id, by, approvals: 1, pages: 'existing' }
    await set(org, [rule]).then(expecting(200))
    await ann.delete(`/orgs/${org}/members/${bob.user.email}`).then(expecting(204))
    await ann.delete(node.at).then(expecting(204))
    expect(await rolesOf(org)).to.deep.equal({ Ann: 'owner' })
    await set(org, [{ ...rule, resolved: true }]).then(expecting(200))
    expect(await rulesOf(org)).to.deep.equal([{ ...defaults, ...rule, resolved: true }])
    await set(org, []).then(expecting(200))
    expect((await set(org, [rule])).body.detail).to.have.length(2)
  })

  it('of two owners at once are those of one of them', async () => {
    const org = await newOrg()
    await put(org, bob, 'owner')
    const lists = [[{ branches: ['main'] }], [{ branches: ['next'], resolved: true }, { branches: ['main'] }]]
    await Promise.all([set(org, lists[0]).then(expecting(200)), set(org, lists[1], bob).then(expecting(200))])
    expect(lists.map((list) => list.map((rule) => ({ ...defaults, ...rule })))).to.deep.include(await rulesOf(org))
  })

  describe('in org.json', () => {
    it('get their defaults, and keep the keys of a later version until the rule changes', async () => {
      const org = await newOrg()
      const rules = [
        { branches: ['main'], labels: ['reviewed'], by: { role: 'owner', teams: 1 } },
        { branches: ['next'], labels: ['next'] },
      ]
      write(org, { ...fileOf(org), rules })
      const main = { ...defaults, branches: ['main'], by: { role: 'owner' } }
      const next = { ...defaults, branches: ['next'] }
      await ann.patch(`/orgs/${org}`, { name: 'Oceans' }).then(expecting(200))
      expect(await rulesOf(org)).to.deep.equal([main, next])
      await set(org, [main, { ...next, resolved: true }]).then(expecting(200))
      const [kept, changed] = fileOf(org).rules
      expect(kept).to.deep.equal({ ...main, labels: ['reviewed'], by: { role: 'owner', teams: 1 } })
      expect(changed).to.deep.equal({ ...next, resolved: true })
    })

    for (const [what, rules] of [
      ['no list', { branches: ['main'] }],
      ['a rule without branches', [{ approvals: 1 }]],
      ['a value of a later version', [{ branches: ['main'], keep: 'same_tree' }]],
      ['a pattern of a later version', [{ branches: ['main', 'v[0-9]'] }]],
    ] as const)
      it.deep(`are damage if they have ${what}, and the rules before stay in force`, async () => {
        const org = await newOrg({ rules: [{ branches: ['main'], approvals: 3 }] })
        const before = fileOf(org)
        write(org, { ...before, rules })
        const { stdout } = await cli(grove.dataDir, 'doctor')
        expect(stdout).to.match(new RegExp(`${org}/org.git: org.json is invalid: rules`))
        expect((await set(org, [])).status).to.equal(503)
        expect(await rulesOf(org)).to.deep.equal([{ ...defaults, branches: ['main'], approvals: 3 }])
        write(org, before)
        expect((await set(org, []).then(expecting(200))).body.rules).to.deep.equal([])
      })
  })

  describe('in the index', () => {
    const edit = (sql: string, ...values: string[]) => {
      const db = openSqlite(join(grove.dataDir, 'index.sqlite'))
      try {
        db.prepare(sql).run(...values)
      } finally {
        db.close()
      }
    }

    it('are read from org.git if an older version wrote the row', async () => {
      const org = await newOrg({ rules: [{ branches: ['main'] }] })
      const rules = [{ ...defaults, branches: ['main'] }]
      edit('update org set rules = null, rules_head = null where id = ?', org)
      expect(await rulesOf(org)).to.deep.equal(rules)
      edit("update org set rules = '[]', rules_head = 'a commit before' where id = ?", org)
      expect(await rulesOf(org)).to.deep.equal(rules)
      edit("update org set rules = '[{}]', rules_head = head where id = ?", org)
      expect(await rulesOf(org)).to.deep.equal(rules)
      await ann.delete(`/orgs/${org}`).then(expecting(204))
    })

    it.deep('are compared by doctor', async () => {
      const org = await newOrg({ rules: [{ branches: ['main'] }] })
      edit("update org set rules = '[]' where id = ?", org)
      const { code, stdout } = await cli(grove.dataDir, 'doctor')
      expect(code).to.equal(1)
      expect(stdout).to.include(org).and.to.match(/rules/)
      edit('update org set rules = null, rules_head = null where id = ?', org)
      await ann.patch(`/orgs/${org}`, { name: 'Oceans' }).then(expecting(200))
      expect((await cli(grove.dataDir, 'doctor')).stdout).to.match(/\nOK: no problems found\n$/)
    })
  })
})
