/** Blocks of code on pages. */

import { expect } from 'chai'
import { colour } from '../../server/pages/text/colours.ts'
import { toolsFor } from '../../server/pages/text/drawing.ts'
import { renderText } from '../../server/pages/text/rendering.ts'
import { renderInTurns } from '../../server/pages/text/texts.ts'
import { countTurns } from '../support/turns.ts'
import { expectBalanced } from './balanced.ts'

const html = async (text: string) => renderText(text, '', () => undefined, await toolsFor(text)).html
const block = (code: string, language = '') =>
  `<div class="code"><pre tabindex="0"><code>${code}</code></pre><div class="code-bar">${language && `<span>${language}</span>`}` +
  '<button type="button" class="copy" data-copy hidden>Copy</button></div></div>\n'
const coloured =
  '<span class="hljs-keyword">let</span> <span class="hljs-variable">a</span> = <span class="hljs-string">&quot;&lt;&quot;</span>;\n'

describe('code in a text', () => {
  it('has colours and the name of its language', async () => {
    expect(await html('```rs\nlet a = "<";\n```')).to.equal(block(coloured, 'Rust'))
    expect(await html('> ~~~ {.rust .numbered}\n> let a = "<";\n> ~~~')).to.include(block(coloured, 'Rust'))
    expect(await html('```rust,ignore\nlet a = "<";\n```')).to.equal(block(coloured, 'Rust'))
  })

  it('has no colours without a language or in an unknown one', async () => {
    expect(await html('```\nlet a = "<";\n```')).to.equal(block('let a = &quot;&lt;&quot;;\n'))
    expect(await html('    let a = "<";\n')).to.equal(block('let a = &quot;&lt;&quot;;\n'))
    expect(await html('```unknown" x="<\nlet a = 1\n```')).to.equal(block('let a = 1\n', 'unknown'))
    expect(await html('```__proto__\na\n```')).to.equal(block('a\n'))
    expect(await html('```constructor\na\n```')).to.equal(block('a\n', 'constructor'))
  })

  const known = [
    ...['bash', 'sh', 'c', 'cpp', 'c++', 'cs', 'css', 'diff', 'dockerfile', 'go', 'haskell', 'hs', 'html', 'java'],
    ...[
      'js',
      'json',
      'jsx',
      'kotlin',
      'latex',
      'tex',
      'lua',
      'make',
      'md',
      'nasm',
      'nix',
      'ocaml',
      'php',
      'powershell',
    ],
    ...['py', 'r', 'ruby', 'rust', 'scala', 'scss', 'shell', 'sql', 'swift', 'toml', 'ts', 'tsx', 'vue', 'xml', 'yaml'],
  ]
  it('has colours in the languages that notes use', () => {
    for (const name of known) expect(colour('a', name), name).to.have.any.keys('html')
  })

  it('is plain if a block is long, or unlike code, or the text has much code before it', async () => {
    expect(colour('a\n'.repeat(2_000), 'js')).to.have.any.keys('html')
    for (const code of ['a\n'.repeat(2_001), 'a'.repeat(80), 'a '.repeat(150), ' '.repeat(60)])
      expect(colour(code, 'js')).to.deep.equal({ name: 'JavaScript' })
    const shown = await html(`\`\`\`js\n${'let a\n'.repeat(600)}\`\`\`\n\n`.repeat(12))
    expect(shown.match(/<span>JavaScript<\/span>/g)).to.have.length(11)
    expect(shown.match(/<span>js<\/span>/g)).to.have.length(1)
    expect(shown.match(/hljs-keyword/g)).to.have.length(11 * 600)
  })

  it('leaves turns to others between its blocks', async () => {
    const text = `\`\`\`csharp\n${`${'a '.repeat(100)}\n`.repeat(9)}\`\`\`\n\n`.repeat(20)
    const { turns } = await countTurns(() =>
      renderInTurns(text, '', { resolve: () => undefined }, new AbortController().signal),
    )
    expect(turns).to.be.at.least(5)
  })

  it('leaves no element open, in any language', async () => {
    const code = ['<a b="', '/* ', '"""', '${`', '<!--', '<?php', '{{', '#{', '\\begin{x}', '*a', '[a](', "'"].join(
      '\n',
    )
    for (const name of known) {
      const shown = await html(`\`\`\`${name}\n${code}\n\`\`\``)
      for (const { name: element, attributes } of expectBalanced(shown))
        if (element === 'span' && attributes.size > 0) expect([...attributes.keys()]).to.deep.equal(['class'])
    }
  })
})
