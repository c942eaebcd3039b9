/** The offer to write the new title of a page in the texts that link to it. */

import { expect } from 'chai'
import { connectionId, keyOfName } from '../../server/markdown/connection-ids.ts'
import { made } from '../support/cast.ts'
import { expecting } from '../support/node.ts'
import { pageAt, readPage } from '../support/pages.ts'
import type { Answer } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { formsOf } from './forms.ts'

type Send = Awaited<ReturnType<typeof formsOf>>

describe('a page that gets another title', () => {
  const { grove, ann, bob } = useWorld({ ann: 'owner', bob: 'stranger' })
  let org: string
  let [send, sendAsBob]: Send[] = []

  beforeEach(async () => {
    org = (await made(ann.post('/orgs', { name: 'Names' }))).id
    send = await formsOf(grove, ann)
    sendAsBob = await formsOf(grove, bob)
  })

  const at = (id: string) => `/orgs/${org}/nodes/${id}`
  const page = (id: string) => pageAt(org, id)
  const add = async (title: string, text_content = ''): Promise<string> =>
    (await made(ann.post(`/orgs/${org}/nodes`, { title, text_content }))).id
  /** Adds a text with the connections that the editor makes of links by this name. */
  const linking = async (text: string, name: string, target: string, title = 'From') => {
    const id = await add(title, text)
    for (const type of ['links_to', 'embeds'])
      await made(ann.post(`${at(id)}/connections`, { id: connectionId(keyOfName(name), type, target), target, type }))
    return id
  }
  const nodeAt = async (id: string) => (await ann.get(at(id)).then(expecting(200))).body
  const textOf = async (id: string): Promise<string> => (await nodeAt(id)).text_content
  const linksOf = async (id: string) => (await ann.get(`${at(id)}/links`).then(expecting(200))).body.links
  const rename = (id: string, title: string) => ann.patch(at(id), { title }).then(expecting(200))
  const offer = (id: string, from: string, person = ann): Promise<Answer> =>
    readPage(person, `${page(id)}/rename?from=${encodeURIComponent(from)}`)
  const ticked = (html: string) =>
    [...html.matchAll(/name="text" value="([^"]*)" checked/g)].map(([, text = '']) => text)
  /** Sends the form of the page as it is shown. */
  const update = async (id: string, from: string, texts?: readonly string[], by = send) => {
    const chosen = texts ?? ticked((await offer(id, from).then(expecting(200))).body)
    if (!by) throw new Error('nobody has signed in')
    return (
      await by(`${page(id)}/rename?from=${encodeURIComponent(from)}`, { from, text: chosen }).then(expecting(200))
    ).body
  }

  it('offers this after it was saved, if texts have the old name', async () => {
    const otters = await add('Otters')
    const save = async (title: string) => {
      const { head } = await nodeAt(otters)
      const fields = { head, title, text: 'Words.', message: '', act: 'save' }
      const answer = await send?.(`${page(otters)}/edit`, fields)
      return answer?.headers.location ?? ''
    }
    const asked = async (location: string) => (await readPage(ann, location).then(expecting(303))).headers.location
    const unlinked = await save('River otters')
    expect(unlinked).to.equal(`${page(otters)}/rename?from=Otters`)
    expect(await asked(unlinked)).to.equal(page(otters))
    const from = await linking('Some words. See [[River otters|them]] here. More.', 'River otters', otters, 'A page')
    const { status, body } = await readPage(ann, await save('Sea otters'))
    expect(status).to.equal(200)
    const { head } = await nodeAt(from)
    expect(ticked(body)).to.deep.equal([`${from} ${head}`])
    expect(body.replace(/<\/?(mark|!--[^>]*--)>/g, '')).to.contain('See [[River otters|them]] here.')
    expect(await save('Sea otters')).to.equal(page(otters))
  })

  it('writes the new name with one commit for each text, and changes no other byte', async () => {
    const otters = await add('Otters')
    await add('Older')
    const before =
      '---\nup: "[[Otters]]"\n---\r\n[[Otters]] ![[otters|x]]  [[ Otters #Food]]\n\n```\n[[Otters]]\n```\n[o](Otters.md) `[[Otters]]` [[x/Otters]]\t[[Otters.md]] [[Older]]'
    const from = await linking(before, 'Otters', otters)
    await rename(otters, 'Sea otters')
    const commits = (await ann.get(`${at(from)}/tree/main/commits`)).body.total
    expect(await update(otters, 'Otters')).to.contain('Updated: 1 page')
    expect(await textOf(from)).to.equal(
      '---\nup: "[[Otters]]"\n---\r\n[[Sea otters]] ![[Sea otters|x]]  [[ Sea otters #Food]]\n\n```\n[[Otters]]\n```\n[o](Otters.md) `[[Otters]]` [[x/Otters]]\t[[Otters.md]] [[Older]]',
    )
    const { total, history } = (await ann.get(`${at(from)}/tree/main/commits`)).body
    expect([total, history[0].message]).to.deep.equal([commits + 1, 'Update links: Otters is now Sea otters'])
    // Nothing is left, and the next rename finds the new name.
    expect((await offer(otters, 'Otters')).status).to.equal(303)
    await rename(otters, 'Enhydra')
    expect(await update(otters, 'Sea otters')).to.contain('Updated: 1 page')
    expect(await textOf(from)).to.contain('[[Enhydra]] ![[Enhydra|x]]  [[ Enhydra #Food]]')
    expect((await linksOf(from))[0].node.id).to.equal(otters)
  })

  it.deep('leaves every link where it led, in random texts', async () => {
    for (let seed = 1; seed <= 12; seed++) {
      const random = randomFrom(seed)
      const old = random(['Otter', 'C++', 'Ünï', '獺', 'A & B <b>', "it's *x*"])
      const name = random(['Sea otter', 'C#sharp'.replace('#', ' '), 'Lutra', '鯨 😀', 'R&D "q"', '_x_ *y*'])
      const [target] = [await add(old), await add(`${old} two`)]
      const text = randomText(random, old)
      const from = await linking(text, old, target)
      await rename(target, name)
      const before = await linksOf(from)
      const [result, now, after] = [await update(target, old), await textOf(from), await linksOf(from)]
      const why = `seed ${seed}: ${JSON.stringify(text)} → ${JSON.stringify(now)}: ${result.match(/Not updated[\s\S]{0,400}/)?.[0]}`
      const led = (links: { node?: { id: string; heading?: string }; form: string; embeds: boolean; text: string }[]) =>
        links.map(({ node, form, embeds, text: words }) => [node?.id, node?.heading, form, embeds, words])
      expect(led(after), why).to.deep.equal(led(before))
      expect(now, why).to.equal(expectedText(text, before, old, name))
    }
  })

  it('proposes all together if main changes by proposals, once, also if it is sent twice', async () => {
    const otters = await add('Otters')
    const from = await linking('See [[Otters]].', 'Otters', otters, 'A page')
    const other = await linking('Feed [[Otters]].', 'Otters', otters, 'Another page')
    await rename(otters, 'Sea otters')
    await ann.patch(`/orgs/${org}`, { require_pull_requests: true }).then(expecting(200))
    const texts = ticked((await offer(otters, 'Otters').then(expecting(200))).body)
    for (let times = 0; times < 2; times++) {
      const result = await update(otters, 'Otters', texts)
      expect(result).to.contain('Proposed: 2 pages').and.contain('/proposals/1">Open proposal #1<')
    }
    const sets = (await ann.get(`/orgs/${org}/change-sets?status=all`).then(expecting(200))).body.change_sets
    expect(sets.map(({ title, num_items }: Answer['body']) => [title, num_items])).to.deep.equal([
      ['Update links: Otters is now Sea otters', 2],
    ])
    expect(await textOf(from)).to.equal('See [[Otters]].')
    await ann.post(`/orgs/${org}/change-sets/1/merge`, {}).then(expecting(200))
    expect([await textOf(from), await textOf(other)]).to.deep.equal(['See [[Sea otters]].', 'Feed [[Sea otters]].'])
    const { connections } = await nodeAt(from)
    expect(
      connections.map(({ id, type }: { id: string; type: string }) => [id.replace(/-\w+$/, ''), type]),
    ).to.have.deep.members([
      ['sea-otters', 'links_to'],
      // It was not made from a link of this text.
      ['otters', 'embeds'],
    ])
  })

  it('adds to a draft, and says if a page is in a proposal already', async () => {
    const otters = await add('Otters')
    const from = await linking('See [[Otters]].', 'Otters', otters, 'A page')
    await rename(otters, 'Sea otters')
    const open = { title: 'The sea', is_draft: true, nodes: [{ title: 'Krill' }] }
    await made(ann.post(`/orgs/${org}/change-sets`, open))
    const form = await offer(otters, 'Otters')
    expect(form.body).to.contain('Save at once').and.contain('Add to: “The sea” (1 page)')
    const sent = { from: 'Otters', text: ticked(form.body), into: '1' }
    const path = `${page(otters)}/rename?from=Otters`
    expect((await send?.(path, sent))?.body)
      .to.contain('Proposed: 1 page')
      .and.contain('Open proposal #1')
    expect((await send?.(path, { ...sent, into: 'new' }))?.body).to.match(
      /Not updated: 1 page[\s\S]*“A page” is in proposal 1 \(“The sea”\) already/,
    )
    expect(await textOf(from)).to.equal('See [[Otters]].')
  })

  it('lets contributors propose, and refuses readers', async () => {
    const otters = await add('Otters')
    const from = await linking('See [[Otters]].', 'Otters', otters)
    await rename(otters, 'Sea otters')
    const join = (role: string) =>
      ann.put(`/orgs/${org}/members/${encodeURIComponent(bob.user.email)}`, { role }).then((answer) => {
        if (answer.status >= 300) throw new Error(JSON.stringify(answer.body))
      })
    await join('reader')
    expect((await offer(otters, 'Otters', bob)).status).to.equal(403)
    await join('contributor')
    const result = await update(otters, 'Otters', undefined, sendAsBob)
    expect(result).to.contain('Proposed: 1 page').and.contain('Open proposal #1')
    const { pr } = (await ann.get(`${at(from)}/pull-requests/1`).then(expecting(200))).body
    expect([pr.author, pr.source_branch.startsWith('users/')]).to.deep.equal(['Bob', true])
  })

  it('reports a text that somebody else has changed, and can be repeated', async () => {
    const otters = await add('Otters')
    const [one, two] = [
      await linking('One [[Otters]].', 'Otters', otters, 'One page'),
      await linking('Two [[Otters]].', 'Otters', otters, 'Two page'),
    ]
    await rename(otters, 'Sea otters')
    const texts = ticked((await offer(otters, 'Otters').then(expecting(200))).body)
    await ann.patch(at(one), { text_content: 'One more [[Otters]].' }).then(expecting(200))
    const result = await update(otters, 'Otters', texts)
    expect(result)
      .to.contain('Updated: 1 page')
      .and.match(/Not updated: 1 page[\s\S]*One page[\s\S]*changed at the same time/)
    expect([await textOf(one), await textOf(two)]).to.deep.equal(['One more [[Otters]].', 'Two [[Sea otters]].'])
    expect(await update(otters, 'Otters'))
      .to.contain('Updated: 1 page')
      .and.not.contain('Not updated')
    expect(await textOf(one)).to.equal('One more [[Sea otters]].')
  })

  it('updates each text once if two people press the button', async () => {
    const otters = await add('Otters')
    const froms = await Promise.all([1, 2, 3].map((n) => linking(`${n} [[Otters]].`, 'Otters', otters, `Page ${n}`)))
    await rename(otters, 'Sea otters')
    const texts = ticked((await offer(otters, 'Otters').then(expecting(200))).body)
    await Promise.all([update(otters, 'Otters', texts), update(otters, 'Otters', texts)])
    const left = await offer(otters, 'Otters')
    if (left.status === 200) await update(otters, 'Otters')
    for (const [n, id] of froms.entries()) {
      expect(await textOf(id)).to.equal(`${n + 1} [[Sea otters]].`)
      expect((await ann.get(`${at(id)}/tree/main/commits`)).body.total).to.equal(4)
    }
  })

  it('does not write a name that would lead elsewhere or be read as something else', async () => {
    const [otters, another] = [await add('Otters'), await add('Sea otters')]
    const both = await linking('[[Otters]] and [[Sea otters]].', 'Otters', otters, 'Both')
    const defined = await linking(
      '[[Otters]] and [x][Sea otters].\n\n[sea otters]: https://a.example',
      'Otters',
      otters,
      'Defined',
    )
    const fine = await linking('[[Otters]]', 'Otters', otters, 'Fine')
    const texts = await Promise.all([both, defined, fine].map(textOf))
    await rename(otters, 'Sea otters')
    await made(ann.post(`${at(both)}/connections`, { ...madeOf('Sea otters', another), target: another }))
    const result = await update(otters, 'Otters')
    expect(result)
      .to.match(/Not updated: 2 pages/)
      .and.contain('Updated: 1 page')
    expect(result).to.contain('It already links to another page').and.contain('read as something else')
    expect([await textOf(both), await textOf(defined)]).to.deep.equal(texts.slice(0, 2))
    // Two pages have the title now, and the connection says which one the text means.
    expect([await textOf(fine), (await linksOf(fine))[0].node.id]).to.deep.equal(['[[Sea otters]]', otters])
    await rename(otters, 'A [draft] | of otters')
    const told = await offer(otters, 'Sea otters').then(expecting(200))
    expect(told.body).to.contain('A link cannot be written with this title')
  })
  const madeOf = (name: string, target: string) => ({
    ...{ id: connectionId(keyOfName(name), 'links_to', target), type: 'links_to' },
  })

  it('does not touch links by the file name of an imported page, which keep their name', async () => {
    const { id } = await made(
      ann.post(`/orgs/${org}/nodes`, { title: 'Otters', properties: { source_path: 'sea/Otters.md' } }),
    )
    const from = await linking('[[Otters]]', 'Otters', id)
    await rename(id, 'Sea otters')
    expect((await offer(id, 'Otters')).status).to.equal(303)
    expect((await linksOf(from))[0].node.id).to.equal(id)
  })

  it.deep('lists 40 texts on a page, and the others on the next', async () => {
    const otters = await add('Otters')
    for (let n = 0; n < 43; n++) {
      const id = await add(`Page ${n}`, '[[Otters]]')
      await made(ann.post(`${at(id)}/connections`, { ...madeOf('Otters', otters), target: otters }))
    }
    await rename(otters, 'Sea otters')
    const { body } = await offer(otters, 'Otters').then(expecting(200))
    expect(ticked(body)).to.have.length(40)
    const [, next = ''] = body.match(/href="([^"]*offset=\d+)"/) ?? []
    const more = await ann.get(next.replaceAll('&amp;', '&'), { accept: 'text/html' }).then(expecting(200))
    expect(ticked(more.body)).to.have.length(3)
    expect(await update(otters, 'Otters')).to.contain('Updated: 40 pages')
    expect(await update(otters, 'Otters')).to.contain('Updated: 3 pages')
  })
})

/** Returns a function that picks one of some values. */
function randomFrom(seed: number): <T>(values: readonly T[]) => T {
  let state = seed * 2_654_435_761
  return (values) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return values[(state >>> 8) % values.length] as (typeof values)[number]
  }
}

function randomText(random: <T>(values: readonly T[]) => T, name: string): string {
  const pieces = [
    ...[
      `[[${name}]]`,
      `[[${name.toLowerCase()}|shown]]`,
      `[[${name}#A heading|x]]`,
      `![[${name.toUpperCase()}]]`,
      `[[ ${name} ]]`,
    ],
    ...[
      `[[x/${name}]]`,
      `[[${name}.md]]`,
      `[[${name} two]]`,
      `[${name}](<${name}.md>)`,
      `[[${name}]](no)`,
      `\\[[${name}]]`,
    ],
    ...[
      `\`[[${name}]]\``,
      `\n\`\`\`\n[[${name}]]\n\`\`\`\n`,
      `<!-- [[${name}]] -->`,
      `%% [[${name}]] %%`,
      `\n\n    [[${name}]]\n\n`,
    ],
    ...[
      `\n\n| [[${name}\\|a]] | b |\n|---|---|\n| ![[${name}]] | [[${name}#^b\\|5]] |\n\n`,
      `\n> quote [[${name}]]\n\n`,
    ],
    ...[
      `\n- item [[${name}]]\n- [ ] task ![[${name}|50]]\n\n`,
      `é😀 [[${name}]]獺`,
      `[[${name}|[x]]]`,
      `\n\n[^1]: note [[${name}]]\n\n`,
    ],
    ...[
      'words',
      '\t',
      '**bold',
      '<b>',
      '\u2028',
      '\n\n',
      '  \n',
      '# [[x]]',
      '[[Nowhere]]',
      '[ref]',
      '\n\n[ref]: x.md "t"\n\n',
      '\r',
    ],
  ]
  const head = random(['', `---\nup: "[[${name}]]"\n---\n`])
  const body = Array.from({ length: 25 }, () => random(pieces)).join(random([' ', '\n', '']))
  return random([(text: string) => text, (text: string) => text.replace(/\r?\n/g, '\r\n')])(head + body)
}

/** The same, from the links that the service resolves: an oracle that writes from the end. */
function expectedText(
  text: string,
  links: readonly { line: number; column: number; form: string; target: string; node?: { title: string } }[],
  old: string,
  name: string,
): string {
  const lines = text.split(/(\r\n|\r|\n)/)
  for (const { line, column, form, target, node } of links.toReversed()) {
    if (form !== 'wikilink' || node?.title !== name || target.split('#')[0]?.trim().toLowerCase() !== old.toLowerCase())
      continue
    const at = (line - 1) * 2
    const source = lines[at] ?? ''
    const start = source.toLowerCase().indexOf(old.toLowerCase(), column - 1)
    lines[at] = source.slice(0, start) + name + source.slice(start + old.length)
  }
  return lines.join('')
}
