/** Whatever a text or a name holds, a page runs nothing of it, breaks nowhere and asks no other host. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt } from '../support/pages.ts'
import { ann, expectSound, newVisitor, signIn, useScene } from './scene.ts'

const marker = 'ranAnything'
const run = `window.${marker}=1`

const zoo: Readonly<Record<string, string>> = {
  'a script': `<script>${run}</script>`,
  'a handler': `<img src="x.png" onerror="${run}"> <img src=x onerror=${run}>`,
  'a picture in HTML whose attributes break out': `<img src='x" onerror="${run}' alt='" onload="${run}'>`,
  'a link that is a script': `[a](javascript:${run}) [b](JaVaScRiPt:${run}) [c](&#106;avascript:${run}) <javascript:${run}>`,
  'a link with a line end in its scheme': `[a](<java\tscript:${run}>) [b](java&#10;script:${run})`,
  data: `[a](data:text/html,<script>${run}</script>) ![b](data:image/svg+xml,<svg onload=${run}>)`,
  vbscript: `[a](vbscript:${run}) [b](file:///etc/passwd)`,
  'a reference to a script': `[a][x]\n\n[x]: javascript:${run}`,
  'a wiki link to a script': `[[javascript:${run}]] ![[javascript:${run}|x]] [[x" onmouseover="${run}|y]]`,
  'words of a wiki link': `[[Home|<img src=x onerror=${run}>]] [[Home|"><script>${run}</script>]]`,
  'a title of a link': `[a](https://example.org "x\\" onclick=\\"${run}")`,
  'a heading': `# <svg onload=${run}> {#x" onclick="${run}}`,
  'a language of code': `\`\`\`js" onload="${run}\n${run}\n\`\`\``,
  'a callout': `> [!note" onclick="${run}] x\n> y\n\n> [!tip] <script>${run}</script>`,
  'a table with styles': `| a |\n|:-:|\n| <td style="color:red" onclick=${run}> |`,
  'a style': `<style>body{display:none}</style><p style="position:fixed;inset:0">x</p>`,
  'a frame and a form': `<iframe src="/sign-in"></iframe><form action="https://evil.example"><input name=password></form>`,
  'formulas that lead out': `$\\href{javascript:${run}}{x}$ $\\includegraphics{https://evil.example/x.png}$ $\\url{javascript:${run}}$`,
  'formulas with attributes': `$\\style{position:fixed}{x}$ $\\class{x" onclick="${run}}{y}$ $\\data{a=b}{z}$ $\\text{<script>${run}</script>}$`,
  'formulas with colours and tables':
    '$$\\color{red}{x}\\boxed{y}\\begin{array}{c|c}a&b\\\\\\hline c&d\\end{array}\\tag{1}$$',
  footnotes: `a[^x"onclick="${run}] b[^1]^[<img src=x onerror=${run}>]\n\n[^1]: <script>${run}</script> > [^2]: x\n`,
  'elements with handlers': `<kbd onclick="${run}">a</kbd> <a href="javascript:${run}">b</a> <abbr title='"><script>${run}</script>'>c</abbr> <details ontoggle="${run}" open><summary onclick="${run}">d</summary>e</details>`,
  'unfolding parts with handlers': `<details open ontoggle="${run}">\n<summary onclick="${run}">d</summary>\ne\n</details>\n\n</div></main>`,
  tasks: '- [ ] a\n- [x] b <input autofocus>',
  'a base and a refresh': `<base href="https://evil.example/"><meta http-equiv="refresh" content="0;url=https://evil.example/">`,
  'pictures of other hosts':
    '![x](https://evil.example/x.png) <img src="https://evil.example/y.png"> ![[https://evil.example/z.png]]',
  'ids of the page': '# main\n\n# side\n\n# q\n\n# constructor\n\n# __proto__',
  'many openings': '[['.repeat(10_000),
  'many comments': '%% '.repeat(10_001) + '<!-- '.repeat(5_000),
  'many emphases': '*a_ '.repeat(10_000),
  'deep quotations': `${'> '.repeat(2_000)}x`,
  'deep lists': Array.from({ length: 200 }, (_, at) => `${' '.repeat(2 * at)}- x`).join('\n'),
  'no text at all': '\u202e\u0000\ufffd\u2028',
  'an unfinished comment': 'before <!-- after %% never',
  'YAML that does not end': '---\na: 1\n'.repeat(500),
}

/** The element that ends furthest to the right, if the page scrolls sideways. */
const widestElement = `(() => {
  if (document.documentElement.scrollWidth <= innerWidth) return ''
  const all = [...document.body.querySelectorAll('*')].map((one) => [one.getBoundingClientRect().right, one])
  const [, widest] = all.reduce((a, b) => (b[0] >= a[0] ? b : a))
  return [widest.parentElement.parentElement, widest.parentElement, widest]
    .map(({ localName, className }) => localName + '.' + className)
    .join(' > ')
})()`

describe('hostile texts', () => {
  useScene()

  it('run nothing on a page, and ask no other host', async () => {
    const { id: org } = await made(
      ann.post('/orgs', { name: `<b>"'&</b>`, description: `</title><script>${run}</script>`, published: true }),
    )
    const visitor = await newVisitor()
    const { page, open, faults } = visitor
    for (const [title, text_content] of Object.entries(zoo)) {
      const name = `${title} </script><script>${run}</script>`
      const properties = { description: `"><img src=x onerror=${run}>` }
      const { id } = await made(
        ann.post(`/orgs/${org}/nodes`, {
          title: name,
          tags: [`<i>${run}</i>`],
          properties,
          text_content: text_content.replace('\u0000', ''),
        }),
      )
      expect(await open(pageAt(org, id)), title).to.deep.equal({ status: 200 })
      expect(await page.locator('h1').first().textContent(), title).to.equal(name)
      expect(
        await page
          .locator(
            '.prose :is(script, iframe, form, style, svg:not(.callout-icon), object, embed, input:not(.task input), [style], [onclick])',
          )
          .count(),
        title,
      ).to.equal(0)
      const schemes = await page
        .locator('.prose a')
        .evaluateAll((links) => links.map((link) => String(Reflect.get(link, 'protocol'))))
      expect(
        schemes.filter((scheme) => !['http:', 'https:'].includes(scheme)),
        title,
      ).to.deep.equal([])
      for (const link of await page.locator('.prose [onmouseover], .prose [onerror], .prose [onload]').all())
        expect(await link.innerHTML(), title).to.equal(undefined)
      expect(await page.evaluate(`window.${marker}`), title).to.equal(undefined)
    }
    for (const path of [
      pageAt(org),
      `${pageAt(org)}/find?q=%22%3E%3Cscript%3E${run}%3C/script%3E`,
      `/sign-in?next=%22%3E%3Cscript%3E${run}%3C/script%3E`,
    ]) {
      await open(path)
      expect(await page.evaluate(`window.${marker}`), path).to.equal(undefined)
    }
    expect(faults).to.deep.equal([])
    await visitor.context.close()
  })

  it('widen no page of their organisation, however long their words are', async () => {
    const word = 'W'.repeat(200)
    const { id: org } = await made(ann.post('/orgs', { name: word, description: 'D'.repeat(2_000), published: true }))
    await made(ann.post(`/orgs/${org}/nodes`, { title: 'T'.repeat(500), text_content: `# ${word}\n\n${word}\n` }))
    const nodes = [1, 2].map((at) => ({ title: `${word}${at}`, message: 'm'.repeat(900) }))
    await made(ann.post(`/orgs/${org}/nodes/batch`, { nodes }))
    await made(ann.post(`/orgs/${org}/nodes/batch`, { nodes: [{ title: word, message: 'Import x' }] }))
    const visitor = await newVisitor({ viewport: { width: 390, height: 844 } })
    await signIn(visitor)
    for (const path of ['', '?welcome', '/changes', '/members', '/proposals', '/settings/general']) {
      await visitor.open(`${pageAt(org)}${path}`)
      for (const summary of await visitor.page.locator('.lines summary').all()) await summary.click()
      for (const width of [320, 390, 820, 1440]) {
        await visitor.page.setViewportSize({ width, height: 844 })
        await expectSound(visitor.page, ['aria-allowed-attr'])
      }
    }
    expect(visitor.faults).to.deep.equal([])
    await visitor.context.close()
  })

  it('widen no page with a title, a tag or a name that is one long word', async () => {
    const word = 'Donaudampfschifffahrtsgesellschaft'.repeat(6).slice(0, 180)
    const { id: org } = await made(ann.post('/orgs', { name: word.slice(0, 90), published: true }))
    const nodes = `/orgs/${org}/nodes`
    const properties = { [word.slice(0, 60)]: word, source: `https://example.org/${word}` }
    const of = { text_content: `[[${word}]] ${word}\n`, tags: [word.slice(0, 90)], properties }
    const { id, head: first } = await made(ann.post(nodes, { title: word, ...of }))
    const { id: child } = await made(
      ann.post(nodes, { title: `${word}2`, text_content: `[[${word}]]`, tags: ['a'], parents: [id] }),
    )
    const connection = { id: 'one', target: id, type: 'links_to', label: word.slice(0, 60) }
    await made(ann.post(`${nodes}/${child}/connections`, connection))
    const { head } = await made(ann.patch(`${nodes}/${id}`, { text_content: `${word}\n`, message: word }))
    await made(ann.post(`${nodes}/${id}/branches`, { name: 'b' }))
    const changes = [{ action: 'put', path: `${word}.md`, content: word }]
    await made(ann.post(`${nodes}/${id}/tree/b/commits`, { message: word, changes }))
    await made(ann.post(`${nodes}/${id}/pull-requests`, { source_branch: 'b', title: word }))
    const { id: gone } = await made(ann.post(nodes, { title: `${word}3`, text_content: 'x' }))
    await made(ann.delete(`${nodes}/${gone}`))
    const [orgAt, at] = [pageAt(org), pageAt(org, id)]
    const orgPages = ['', '/changes', '/proposals', '/members', '/tags', '/subpages', '/trash', '/export', '/import']
    const nodePages = ['', '/history', '/edit', '/proposals', '/settings', '/backlinks', '/blame', '/subpages']
    const paths = [
      ...orgPages.map((path) => `${orgAt}${path}`),
      ...nodePages.map((path) => `${at}${path}`),
      ...[`${orgAt}/settings/general`, `${orgAt}/settings/members`, `${orgAt}/graph`, `${orgAt}/trash?deleted=${gone}`],
      ...[`${orgAt}/tags?tag=${word.slice(0, 90)}`, `${orgAt}/find?q=${word}`, `${orgAt}/new?title=${word}&from=${id}`],
      ...[`${at}/compare?from=${first}&to=main`, `${at}/commits/${head}`, `${at}/commits/${head}/restore`],
      ...['', '?tab=conversation', '?tab=commits'].map((tab) => `${at}/proposals/1${tab}`),
      ...[`${pageAt(org, child)}`, `${at}/rename?from=${word}`, '/'],
    ]
    const visitor = await newVisitor()
    await signIn(visitor)
    const wide: string[] = []
    for (const path of paths) {
      await visitor.open(path)
      for (const width of [390, 1440]) {
        await visitor.page.setViewportSize({ width, height: 844 })
        const beyond = await visitor.page.evaluate(widestElement)
        if (beyond !== '') wide.push(`${path.slice(-60)} at ${width} px: ${beyond}`)
      }
    }
    expect(wide).to.deep.equal([])
    expect(visitor.faults).to.deep.equal([])
    await visitor.context.close()
  })

  it('run nothing as files that are opened by their address', async () => {
    const { id: org } = await made(ann.post('/orgs', { name: 'Files', published: true }))
    const { id } = await made(
      ann.post(`/orgs/${org}/nodes`, { title: 'Files', text_content: '![x](files/x.svg) ![[page.html]]' }),
    )
    const html = `<script>${run};fetch('/auth/me')</script>`
    const svg = `<svg xmlns="http://www.w3.org/2000/svg"><script>${run}</script></svg>`
    const changes = [
      { action: 'put', path: 'files/page.html', content: html },
      { action: 'put', path: 'files/x.svg', content: svg },
    ]
    await made(ann.post(`/orgs/${org}/nodes/${id}/tree/main/commits`, { message: 'x', changes }))
    const visitor = await newVisitor()
    const { page, open } = visitor
    await open(pageAt(org, id))
    for (const file of ['page.html', 'x.svg']) {
      await open(`/orgs/${org}/nodes/${id}/tree/main/raw/files/${file}`)
      expect(await page.evaluate(`window.${marker}`), file).to.equal(undefined)
      const answer = await page.request.get(page.url())
      expect(answer.headers()['content-security-policy'], file).to.equal("default-src 'none'; sandbox")
      expect(answer.headers()['content-type'], file).not.to.include('html')
    }
    await visitor.context.close()
  })
})
