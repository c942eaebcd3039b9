/** The page of a proposal of several pages, without script, for each role. */

import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { pageAt } from '../support/pages.ts'
import type { Answer, PersonClient } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { alertIn, ledTo, mainOf, type Visit, valueIn, visitOf } from './forms.ts'

describe('the page of a proposal of several pages', () => {
  const { grove, ann, bob, cy, eve } = useWorld({ ann: 'owner', bob: 'maintainer', cy: 'contributor', eve: 'reader' })
  const visits = new Map<PersonClient, Visit>()
  let sets = ''

  before(async () => {
    for (const person of [ann, bob, cy, eve]) visits.set(person, await visitOf(grove, person))
    sets = `/orgs/${ann.org}/change-sets`
  })

  const visit = (person: PersonClient) => visits.get(person) as Visit // `before` has made it
  const aPage = async (title: string, fields: object = {}): Promise<string> => {
    const body = { title, text_content: `About ${title}.\n`, ...fields }
    return (await ann.post(`/orgs/${ann.org}/nodes`, body).then(expecting(201))).body.id
  }
  const openSet = async (fields: object): Promise<Answer['body']> =>
    (await cy.post(sets, { title: 'Whales', ...fields }).then(expecting(201))).body.change_set
  const setOf = async ({ number }: Answer['body']) =>
    (await ann.get(`${sets}/${number}`).then(expecting(200))).body.change_set
  const pageOf = ({ number }: Answer['body']) => `${pageAt(ann.org)}/proposals/${number}`
  const shown = async (person: PersonClient, path: string) => {
    const answer = await visit(person).open(path)
    expect(answer.status).to.equal(200)
    expect(answer.body).to.not.match(/change set/i)
    return mainOf(answer)
  }
  const partOf = (main: string, id: string) =>
    new RegExp(`<(section|details)[^>]*id="${id}"[\\s\\S]*?</\\1>`).exec(main)?.[0] ?? ''
  const words = (html: string) =>
    html
      .replaceAll(/<[^>]+>/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim()
  const setRules = (...rules: object[]) => ann.patch(`/orgs/${ann.org}`, { rules }).then(expecting(200))
  const reviewed = { branches: ['main'], approvals: 1, by: { role: 'maintainer' } }

  /** A new page, a change and a deletion. */
  const aSet = async (fields: object = {}) => {
    const [whales, old] = [await aPage('Whales'), await aPage('Old whales')]
    const set = await openSet({
      nodes: [
        { ref: 'krill', title: 'Krill', text_content: 'Krill are **small**.\n', tags: ['sea'] },
        { id: whales, text_content: 'About blue whales.\n', connections: [{ target: 'krill', type: 'feeds_on' }] },
      ],
      deletions: [{ node_id: old }],
      ...fields,
    })
    const krill = set.items.find(({ act }: { act: string }) => act === 'create').node_id as string
    return { set, whales, old, krill, at: pageOf(set) }
  }
  const itemOf = (set: Answer['body'], id: string) => set.items.find((one: Answer['body']) => one.node_id === id)
  const fieldsOf = (set: Answer['body'], id: string) => {
    const { number, source_commit: commit } = itemOf(set, id)
    return { node: id, number: `${number}`, commit, seen: '' }
  }

  it('shows a deletion, a new page and a change, each with its text', async () => {
    const { whales, old, krill, at } = await aSet({ description: 'From the *atlas*.' })
    const main = await shown(eve, at)
    expect(words(main))
      .to.include('Cy proposes to change 3 pages')
      .and.match(/From the atlas ?\./)
    expect(main.match(/id="page-[^"]+"/g)).to.deep.equal([old, krill, whales].map((id) => `id="page-${id}"`))
    expect(partOf(main, `page-${old}`))
      .to.include('<p>About Old whales.</p>')
      .and.include('will be deleted')
    expect(partOf(main, `page-${krill}`))
      .to.include('<strong>small</strong>')
      .and.include('Tags: sea')
    const change = partOf(main, `page-${whales}`)
    expect(words(change)).to.include('Whales now feeds on Krill')
    expect(change).to.match(/<ins>blue/)
    expect(change, 'a link for a comment on a line').to.match(/proposals\/1\?at=content\.md%3A1#new"/)
    expect(main.match(/<details class="set-item"[^>]* open/g)).to.have.length(3)
  })

  it('opens ten pages, and shows the others one at a time', async () => {
    const nodes = Array.from({ length: 11 }, (_, at) => ({ title: `Fish ${at + 1}`, text_content: `Fish ${at}.\n` }))
    const set = await openSet({ nodes })
    const at = pageOf(set)
    const main = await shown(eve, at)
    expect(main.match(/<details class="set-item"[^>]* open/g)).to.have.length(10)
    const last = set.items[10].node_id
    expect(main).to.include(`?page=${last}"`).and.not.include('<p>Fish 10.</p>')
    const one = await shown(eve, `${at}?page=${last}`)
    expect(one.match(/<details class="set-item"/g)).to.have.length(1)
    expect(one).to.include('<p>Fish 10.</p>')
    expect(one).to.match(new RegExp(`\\?page=${set.items[9].node_id}" data-key="k"`))
    expect(one).to.not.include('data-key="j"')
  })

  it.deep('updates all pages at once, and undoes the whole', async () => {
    const { set, whales, old, krill, at } = await aSet()
    const edit = (id: string, path: string) =>
      ann
        .post(`/orgs/${ann.org}/nodes/${id}/tree/main/commits`, {
          message: 'Edit',
          changes: [{ action: 'put', path, content: 'Later.\n' }],
        })
        .then(expecting(201))
    await edit(whales, 'notes.md')
    expect(words(partOf(await shown(cy, at), 'merge'))).to.include('Update all pages')
    expect(ledTo(await visit(cy).send(at, { act: 'update-all' }))).to.deep.equal([303, at])
    expect(partOf(await shown(cy, at), 'merge')).to.not.include('update-all')
    const { version } = await setOf(set)
    expect(ledTo(await visit(bob).send(at, { act: 'merge', version }))).to.deep.equal([303, at])
    expect(partOf(await shown(cy, at), 'merge'), 'for editors').to.not.include('value="undo"')
    await edit(whales, 'content.md')
    const refused = await visit(bob).send(at, { act: 'undo' })
    expect([refused.status, alertIn(refused)]).to.deep.equal([
      409,
      'Later edits changed the same text of “Whales”, so nothing was changed. Resolve the conflict at each of these pages.',
    ])
    await ann.delete(`/orgs/${ann.org}/nodes/${whales}`).then(expecting(204))
    const undo = pageOf({ ...set, number: set.number + 1 })
    expect(ledTo(await visit(bob).send(at, { act: 'undo' }))).to.deep.equal([303, undo])
    const main = await shown(bob, undo)
    expect(main, 'a link to the other').to.match(/This undoes <a [^>]*proposals/)
    expect(main.match(/id="page-[^"]+"/g)).to.have.members([krill, old].map((id) => `id="page-${id}"`))
    expect(words(partOf(main, `page-${old}`)))
      .to.include('Restored page')
      .and.include('About Old whales.')
  })

  it('takes reviews of each page, and says what holds up the whole', async () => {
    const { set, whales, old, krill, at } = await aSet()
    await setRules(reviewed)
    try {
      const box = partOf(await shown(bob, at), 'merge')
      expect(words(box)).to.include('It needs 1 more approval by a maintainer. All 3 pages')
      expect(box).to.not.include('Merge 3 pages')
      expect(await shown(cy, at), 'by its author').to.not.include('value="review"')
      const { send } = visit(bob)
      for (const id of [old, krill]) {
        const sent = await send(at, { act: 'review', verdict: 'approve', ...fieldsOf(set, id) })
        expect(ledTo(sent)).to.deep.equal([303, `${at}#page-${id}`])
      }
      const main = await shown(bob, at)
      expect(partOf(main, 'merge')).to.include(`?page=${whales}#page-${whales}`).and.not.include('All 3 pages')
      expect(words(partOf(main, `page-${old}`)))
        .to.include('approved by you')
        .and.include('Ready')
      expect(main.match(/<details class="set-item"[^>]* open/g), 'those that are left').to.have.length(1)
      const asked = { act: 'review', verdict: 'request_changes', text: 'Which?', ...fieldsOf(set, whales) }
      expect(ledTo(await send(`${at}?page=${whales}`, asked))).to.deep.equal([
        303,
        `${at}?page=${whales}#page-${whales}`,
      ])
      expect(words(await shown(bob, at))).to.include('A reviewer asks for changes')
      expect(itemOf(await setOf(set), whales).reasons).to.deep.equal(['changes_requested', 'approvals_missing'])
      const refused = await send(at, { ...asked, ...fieldsOf(set, krill), commit: fieldsOf(set, old).commit })
      expect(refused.status).to.equal(409)
      expect(alertIn(refused)).to.match(/moved/)
      expect(partOf(mainOf(refused), `page-${krill}`)).to.match(/<textarea[^>]*>\nWhich\?</)
    } finally {
      await setRules()
    }
  })

  it('merges what was shown, and nothing else', async () => {
    const { set, whales, krill, at } = await aSet({ is_draft: true })
    expect(await shown(eve, at)).to.not.include('Submit for review')
    expect(words(partOf(await shown(cy, at), 'merge')))
      .to.include('Draft')
      .and.include('Submit for review')
    ledTo(await visit(cy).send(at, { act: 'ready' }))
    expect(partOf(await shown(cy, at), 'merge')).to.include('You need the maintainer role')
    const answer = await visit(bob).open(at)
    expect(words(partOf(mainOf(answer), 'merge'))).to.match(/Ready to merge .* Merge 3 pages/)
    const version = valueIn(answer, 'version') ?? ''
    expect(version).to.equal(set.version)
    const changes = [{ action: 'put', path: 'content.md', content: 'Tiny.\n' }]
    const branch = encodeURIComponent(itemOf(set, krill).source_branch)
    await cy
      .post(`/orgs/${ann.org}/nodes/${krill}/tree/${branch}/commits`, { message: 'Say it', changes })
      .then(expecting(201))
    const stale = await visit(bob).send(at, { act: 'merge', version })
    expect([stale.status, /change set/i.test(stale.body)]).to.deep.equal([409, false])
    expect(alertIn(stale)).to.match(/has changed/)
    expect(ledTo(await visit(bob).send(at, { act: 'merge', version: valueIn(stale, 'version') ?? '' }))).to.deep.equal([
      303,
      at,
    ])
    expect((await ann.get(`/orgs/${ann.org}/nodes/${whales}`)).body.text_content).to.equal('About blue whales.\n')
    const after = await shown(eve, at)
    expect(words(partOf(after, 'merge'))).to.include('All pages were merged together by Bob.')
    expect(after).to.include('Old whales').and.not.include('value="review"')
  })

  it('is approved in parts, and says what is left', async () => {
    const { set, whales, old, krill, at } = await aSet()
    const { open, send } = visit(bob)
    const asked = { act: 'review', verdict: 'request_changes', text: 'Why?', ...fieldsOf(set, old) }
    expect(ledTo(await send(at, asked))[0]).to.equal(303)
    const left = await open(at)
    expect(words(partOf(mainOf(left), 'consent'))).to.include(
      '1 of 3 pages read. Next unread Approve the other 2 pages',
    )
    expect(partOf(mainOf(left), 'consent')).to.include(`?page=${krill}#page-${krill}`)
    expect(valueIn(left, 'items')).to.equal(`${krill} ${whales}`)
    await send(at, { act: 'approve', version: set.version, items: `${krill} ${whales}` })
    const { items } = (await bob.get(`${sets}/${set.number}`)).body.change_set
    expect(items.map((one: Answer['body']) => one.own_verdict)).to.deep.equal(['request_changes', 'approve', 'approve'])
    expect(words(await shown(bob, at))).to.not.include('pages read')
    expect(words(await shown(cy, at)), 'its author').to.not.include('pages read')
  })

  it('marks the page that is opened as read, and says what has changed since', async () => {
    const { set, whales, old, krill, at } = await aSet()
    const box = async (path: string) => partOf(await shown(eve, path), 'consent')
    expect(await box(`${at}?page=${old}`)).to.include(`?page=${krill}#page-${krill}">Next unread`)
    expect(words(await box(`${at}?page=${whales}&tab=impact`)), 'not shown').to.include('1 of 3 pages read.')
    await box(`${at}?page=${whales}`)
    const branch = itemOf(set, whales).source_branch
    const change = { message: 'More', changes: [{ action: 'put', path: 'content.md', content: 'Grey.\n' }] }
    expect(words(await box(at))).to.include('2 of 3 pages read.')
    await cy.post(`/orgs/${ann.org}/nodes/${whales}/tree/${branch}/commits`, change).then(expecting(201))
    const main = await shown(eve, at)
    expect(words(main).match(/Change · changed since you read it/g), 'in both lists').to.have.length(2)
    expect(main.match(/data-to-read="/g)).to.have.length(2)
    expect(await shown(cy, at), 'its author').to.not.include('data-to-read')
    expect(words(await box(`${at}?page=${whales}`))).to.include('2 of 3 pages read.')
    expect(words(await shown(eve, at))).to.not.include('changed since you read it')
  })

  it.deep('offers first to approve the pages whose rules wait for the visitor', async () => {
    const { set, whales, old, krill, at } = await aSet()
    await setRules({ ...reviewed, under: whales, by: { people: [eve.user.id] } })
    try {
      const page = await visit(eve).open(at)
      const box = partOf(mainOf(page), 'consent')
      expect(words(box)).to.include('0 of 3 pages read. Next unread 1 page waits for you: Whales Approve this page')
      expect(box).to.include(`#page-${whales}">Next unread`)
      expect(valueIn(page, 'items')).to.equal(whales)
      ledTo(await visit(eve).send(at, { act: 'approve', version: set.version, items: whales }))
      const rest = await visit(eve).open(at)
      expect(words(mainOf(rest))).to.include('1 of 3 pages read. Next unread Approve the other 2 pages')
      expect(valueIn(rest, 'items')).to.equal(`${old} ${krill}`)
      expect(words(await shown(bob, at)), 'for others').to.include('Approve 3 pages')
    } finally {
      await setRules()
    }
  })

  it.deep('shows the open threads of each page, which are answered in its own proposal', async () => {
    const { set, whales, at } = await aSet()
    const comments = `/orgs/${ann.org}/nodes/${whales}/pull-requests/${itemOf(set, whales).number}/comments`
    const anchor = { commit: itemOf(set, whales).source_commit, path: 'content.md', quote: { exact: 'blue' } }
    const { body } = await bob.post(comments, { text: 'Why *blue*?', anchor }).then(expecting(201))
    const part = partOf(await shown(eve, at), `page-${whales}`)
    expect(part).to.include('<blockquote class="quoted">blue</blockquote>').and.include('Why <em>blue</em>?')
    expect(part).to.include(`?tab=conversation#c${body.entry}"`)
    expect(words(part)).to.include('1 open thread')
  })

  it.deep('gets another title and description', async () => {
    const { set, at } = await aSet()
    expect(await shown(eve, at)).to.not.include('value="edit"')
    expect(ledTo(await visit(cy).send(at, { act: 'edit', title: 'The sea', text: 'One\r\nTwo' }))).to.deep.equal([
      303,
      at,
    ])
    expect(await setOf(set)).to.include({ title: 'The sea', description: 'One\nTwo' })
    const empty = await visit(cy).send(at, { act: 'edit', title: ' ', text: '' })
    expect(empty.status).to.equal(422)
  })

  it('is closed and opened again, asks for reviews, and loses pages', async () => {
    const { set, whales, old, at } = await aSet()
    const { send } = visit(cy)
    expect(ledTo(await send(at, { act: 'ask', reviewer: bob.user.id }))[0]).to.equal(303)
    expect(words(await shown(cy, at))).to.include('Waiting for Bob')
    ledTo(await send(at, { act: 'close' }))
    expect(words(partOf(await shown(cy, at), 'merge')))
      .to.include('Closed by Cy')
      .and.include('Reopen')
    ledTo(await send(at, { act: 'reopen' }))
    expect(ledTo(await send(at, { act: 'remove', ...fieldsOf(set, old) }))).to.deep.equal([303, at])
    expect((await setOf(set)).items).to.have.length(2)
    const again = await send(at, { act: 'remove', ...fieldsOf(set, old) })
    expect(again.status).to.equal(422)
    await bob.patch(`/orgs/${ann.org}/nodes/${whales}`, { title: 'Whale' }).then(expecting(200))
    expect(words(await shown(cy, at))).to.include('The page has changed since. Update the proposal.')
    ledTo(await send(at, { act: 'update', ...fieldsOf(await setOf(set), whales) }))
    expect((await setOf(set)).can_merge).to.equal(true)
    expect((await visit(eve).send(at, { act: 'close' })).status).to.equal(403)
  })

  it('is merged by an owner in spite of rules, with a reason', async () => {
    const { set, at } = await aSet()
    await setRules(reviewed)
    try {
      expect(await shown(bob, at))
        .to.include('Approve 3 pages')
        .and.not.include('Merge anyway')
      const before = await visit(eve).open(at)
      expect(words(mainOf(before))).to.include('0 of 3 pages read. Next unread Approve 3 pages')
      const sent = { act: 'approve', version: set.version, items: valueIn(before, 'items') ?? '' }
      expect(ledTo(await visit(eve).send(at, sent))).to.deep.equal([303, at])
      expect(words(await shown(eve, at)).match(/approved by you/g)).to.have.length(6)
      expect(await shown(ann, at)).to.include('Merge anyway')
      ledTo(await visit(ann).send(at, { act: 'override', version: set.version, text: 'Urgent.' }))
      expect(words(await shown(eve, at))).to.match(/Merged in spite of: missing approvals, by Ann .*Urgent\./)
    } finally {
      await setRules()
    }
  })

  it('says what it means for the tree and the links', async () => {
    const old = await aPage('Old seals')
    await aPage('Pups', { parents: [old] })
    const set = await openSet({ nodes: [{ title: 'Seals' }], deletions: [{ node_id: old }] })
    const said = words(await shown(eve, `${pageOf(set)}?tab=impact`))
    for (const part of [
      'New pages 1 Seals',
      'Pages to delete 1 Old seals',
      'below no other 1 Pups',
      'Pups → Old seals',
    ])
      expect(said).to.include(part)
  })

  it('is named by the proposal of each page, which cannot be merged alone', async () => {
    const { set, krill, whales } = await aSet()
    for (const id of [krill, whales]) {
      const item = `${pageAt(ann.org, id)}/proposals/${itemOf(set, id).number}`
      const main = await shown(bob, item)
      const box = partOf(main, 'merge')
      expect(box)
        .to.include(`/proposals/${set.number}?page=${id}"`)
        .and.not.include('value="merge"')
        .and.not.include('value="close"')
      expect(words(main)).to.not.include('missing page').and.not.include('#1')
    }
    const edit = `${pageAt(ann.org, krill)}/edit?branch=${encodeURIComponent(itemOf(set, krill).source_branch)}`
    expect(await shown(cy, edit)).to.include('Krill are **small**.')
    expect((await visit(eve).open(`${pageAt(ann.org)}/proposals/999`)).status).to.equal(404)
  })
})
