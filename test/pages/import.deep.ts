/** The pages of an import without a browser: the form as browsers send it, the progress and the report. */

import { expect } from 'chai'
import { type Grove, startGrove } from '../support/grove.ts'
import { pageAt, plain, readPage } from '../support/pages.ts'
import { type Answer, client, type PersonClient, password, signUp } from '../support/people.ts'
import { ended, type Files, type Import, imported, makeHalfSentImport, zipOf } from '../support/uploads.ts'
import { contentIn } from '../uploads/scene.ts'
import { formsOf, sendForm } from './forms.ts'

const boundary = '----a-boundary'

interface Part {
  readonly name: string
  /** Absent: a field. */
  readonly filename?: string
  readonly content: string | Buffer
}

describe('the pages of an import', () => {
  let grove: Grove
  let ann: PersonClient
  let cookie: string
  let submit: Awaited<ReturnType<typeof formsOf>>

  before(async () => {
    grove = await startGrove()
    ann = await signUp(grove, 'Ann')
    submit = await formsOf(grove, ann)
    const { headers } = await sendForm(grove, '/sign-in', { email: ann.user.email, password })
    cookie = headers['set-cookie']?.split(';')[0] ?? ''
  })
  after(() => grove.close())

  const newOrg = async () => (await ann.post('/orgs', { name: 'Atlas' })).body.id as string
  const page = (path: string) => readPage(client(grove), path, { cookie, 'sec-fetch-mode': 'navigate' })
  const send = async (org: string, parts: readonly Part[], more: Record<string, string> = {}): Promise<Answer> =>
    plain(
      await client(grove).post(`${pageAt(org)}/import`, multipart(parts), {
        ...{ cookie, accept: 'text/html', 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'navigate' },
        'content-type': `multipart/form-data; boundary=${boundary}`,
        ...more,
      }),
    )
  const idIn = ({ status, headers, body }: Answer): string => {
    expect(status, String(body)).to.equal(303)
    return headers.location?.split('/').at(-1) ?? ''
  }
  const problemIn = ({ body }: Answer) => /<p class="problem" role="alert">([^<]*)/.exec(body)?.[1]?.trim()

  it('take a folder as a browser sends it, without hidden files, and make what its ZIP makes', async () => {
    const files: Files = {
      'Über “uns”/index.md': '# Us\n\nSee [[Sea]].\n',
      'Über “uns”/a "b"/Sea.md': '# Sea\n\n![a](x.png)\n',
      'Über “uns”/a "b"/x.png': Buffer.from('89504e470d0a1a0a00ff', 'hex'),
      'Über “uns”/.git/config': '[core]\n',
      'Über “uns”/.obsidian/app.json': '{}',
      'Über “uns”/node_modules/x/README.md': '# X\n',
    }
    const parts = Object.entries(files).map(([path, content]) => ({
      ...{ name: 'folder', content },
      filename: path.replaceAll('"', '%22'),
    }))
    const org = await newOrg()
    const id = idIn(
      await send(org, [{ name: 'exclude', content: '' }, { name: 'zip', filename: '', content: '' }, ...parts]),
    )
    const { state, report } = await ended(ann, org, id)
    expect({ state, created: report?.counts.created }).to.deep.equal({ state: 'done', created: 3 })
    const other = await newOrg()
    await imported(ann, other, await zipOf(files))
    expect(await contentIn(ann, org)).to.deep.equal(await contentIn(ann, other))
  })

  it('take some hundred files in one form', async () => {
    const parts = Array.from({ length: 600 }, (_, at) => ({
      ...{ name: 'folder', filename: `notes/part ${at % 9}/${at}.md` },
      content: `# Note ${at}\n\n${'Some words. '.repeat(200)}\n`,
    }))
    const org = await newOrg()
    const { report } = await ended(ann, org, idIn(await send(org, parts)))
    expect(report?.counts).to.include({ created: 610, problems: 0 })
  })

  it('take a .zip, whose name is that of the folder, and preview it', async () => {
    const org = await newOrg()
    const zip = { name: 'zip', filename: 'Field notes.zip', content: await zipOf({ 'seals.md': '# Seals\n' }) }
    const preview = idIn(await send(org, [{ name: 'dry_run', content: 'yes' }, zip]))
    expect(await ended(ann, org, preview)).to.include({ state: 'done', dry_run: true, name: 'Field notes' })
    const { body: shown } = await page(`${pageAt(org)}/import/${preview}`)
    expect(shown).to.contain('This is a preview. Nothing was changed.').and.to.contain('Seals')
    expect((await ann.get(`/orgs/${org}/nodes`)).body.total).to.equal(0)
    await ended(ann, org, idIn(await send(org, [zip])))
    const { nodes } = (await ann.get(`/orgs/${org}/nodes`)).body
    expect(nodes.map(({ title }: { title: string }) => title).sort()).to.deep.equal(['Field notes', 'Seals'])
  })

  it('create pages in spite of rules if an owner says why', async () => {
    const org = await newOrg()
    const form = async () => (await page(`${pageAt(org)}/import`)).body
    expect(await form()).to.not.contain('name="override"')
    await ann.patch(`/orgs/${org}`, { rules: [{ branches: ['main'] }] })
    expect(await form()).to.contain('name="override"')
    const zip = { name: 'zip', filename: 'Notes.zip', content: await zipOf({ 'seals.md': '# Seals\n' }) }
    const reason = (content: string) => ({ name: 'override', content })
    const without = await ended(ann, org, idIn(await send(org, [reason(' '), zip])))
    expect(without.report?.counts.created).to.equal(0)
    const created = await ended(ann, org, idIn(await send(org, [reason('The first import'), zip])))
    expect(created.report?.counts.created).to.equal(2)
  })

  it('say why a form is refused, and take none that is not theirs', async () => {
    const org = await newOrg()
    const zip = { name: 'zip', filename: 'a.zip', content: await zipOf({ 'a.md': 'a' }) }
    const file = { name: 'folder', filename: 'notes/a.md', content: 'a' }
    const tried: [readonly Part[], number, string][] = [
      [[], 422, 'Choose a folder or a .zip first.'],
      [[{ name: 'zip', filename: '', content: '' }], 422, 'Choose a folder or a .zip first.'],
      [[{ ...file, filename: 'notes/.git/HEAD' }], 422, 'Choose a folder or a .zip first.'],
      [[file, zip], 422, 'Choose a folder or one .zip, not both.'],
      [[{ ...file, filename: '../../a.md' }], 422, 'The path &quot;../../a.md&quot; leads out of the folder.'],
      [[{ ...zip, content: 'not a ZIP' }], 422, 'It is not a ZIP file, or it is incomplete.'],
    ]
    for (const [parts, status, says] of tried) {
      const answer = await send(org, parts)
      expect({ status: answer.status, says: problemIn(answer) }).to.deep.equal({ status, says })
    }
    expect((await send(org, [zip], { 'content-type': 'application/zip' })).status).to.equal(415)
    expect((await send(org, [zip], { 'sec-fetch-site': 'cross-site' })).status).to.equal(403)
    expect((await send(org, [zip], { cookie: '' })).status).to.equal(401)
    expect((await ann.get(`/orgs/${org}/imports`)).body.total).to.equal(0)
  })

  it('refuse a form that breaks off, and leave nothing of it', async () => {
    const org = await newOrg()
    const whole = multipart([{ name: 'folder', filename: 'notes/a.md', content: 'a'.repeat(10_000) }])
    const { status } = await client(grove).post(`${pageAt(org)}/import`, whole.subarray(0, 5_000), {
      ...{ cookie, accept: 'text/html', 'sec-fetch-site': 'same-origin' },
      'content-type': `multipart/form-data; boundary=${boundary}`,
    })
    expect(status).to.equal(422)
    expect((await ann.get(`/orgs/${org}/imports`)).body.total).to.equal(0)
  })

  it('show the progress of an import, which loads again without script, and cancel it', async () => {
    const org = await newOrg()
    const id = await makeHalfSentImport(grove, ann, org)
    const { body } = await page(`${pageAt(org)}/import/${id}`)
    expect(body).to.contain('<noscript><meta http-equiv="refresh" content="2"/></noscript>')
    expect(body).to.contain('Receiving the files…').and.to.contain('<progress max="1" aria-label="Progress">')
    expect((await page(`${pageAt(org)}/import`)).body).to.contain('An import is running.')
    const refused = await send(org, [{ name: 'folder', filename: 'notes/a.md', content: 'a' }])
    expect(refused.status).to.equal(409)
    expect(refused.body).to.contain(`<a href="${pageAt(org)}/import/${id}">Show that import</a>`)
    const { status, headers } = await submit(`${pageAt(org)}/import/${id}`, { act: 'cancel' })
    expect({ status, to: headers.location }).to.deep.equal({ status: 303, to: `${pageAt(org)}/import/${id}` })
    const { body: after } = await page(`${pageAt(org)}/import/${id}`)
    expect(after).to.contain('Import: cancelled').and.to.not.contain('http-equiv="refresh"')
  })

  it('report what an import did, with links, and fold long lists', async () => {
    const org = await newOrg()
    const notes = Object.fromEntries(
      Array.from({ length: 600 }, (_, at) => [`notes/${at}.md`, `# Note ${at}\n\n[[Nothing ${at}]] [x](../../y.md)\n`]),
    )
    const { id, report } = await imported(ann, org, await zipOf({ ...notes, 'notes/map.canvas': '[]' }))
    const { body } = await page(`${pageAt(org)}/import/${id}`)
    expect(body).to.contain('<strong>601</strong> new pages')
    expect(body).to.match(/<details class="import-list warning" open><summary><h2>Problems<\/h2>/)
    expect(body).to.match(/<details class="import-list"><summary><h2>Links to nothing<\/h2> <span class="count">1,200</)
    expect(body).to.contain('and 700 more').and.to.contain('and 101 more')
    const first = report?.created[0]
    expect(body).to.contain(`<a href="${pageAt(org, first?.node_id)}">${first?.title}</a>`)
    expect(body.length).to.be.below(400_000)
  })

  it('are for editors only', async () => {
    const org = await newOrg()
    const bob = await signUp(grove, 'Bob')
    await ann.put(`/orgs/${org}/members/${bob.user.email}`, { role: 'reader' })
    const { headers } = await sendForm(grove, '/sign-in', { email: bob.user.email, password })
    const own = headers['set-cookie']?.split(';')[0] ?? ''
    const shown = await client(grove).get(`${pageAt(org)}/import`, {
      cookie: own,
      accept: 'text/html',
      'sec-fetch-mode': 'navigate',
    })
    expect(shown.status).to.equal(403)
    expect(shown.body).to.contain('You need the editor role to import pages here.')
    const zip = { name: 'zip', filename: 'a.zip', content: await zipOf({ 'a.md': 'a' }) }
    expect((await send(org, [zip], { cookie: own })).status).to.equal(403)
    const list: { imports: Import[] } = (await ann.get(`/orgs/${org}/imports`)).body
    expect(list.imports).to.deep.equal([])
  })
})

/** The body of a form, as HTML encodes it: quotes in file names are %22. */
function multipart(parts: readonly Part[]): Buffer {
  const encoded = parts.map(({ name, filename, content }) => {
    const file = filename === undefined ? '' : `; filename="${filename}"`
    const type = filename === undefined ? '' : 'Content-Type: application/octet-stream\r\n'
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n${type}\r\n`
    return Buffer.concat([Buffer.from(head), Buffer.from(content), Buffer.from('\r\n')])
  })
  return Buffer.concat([...encoded, Buffer.from(`--${boundary}--\r\n`)])
}
