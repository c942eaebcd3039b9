/** The fields that a browser would send for a form of a page. */

const control =
  /<input((?:[^>"]|"[^"]*")*)>|<textarea((?:[^>"]|"[^"]*")*)>([^<]*)<\/textarea>|<select((?:[^>"]|"[^"]*")*)>([\s\S]*?)<\/select>/g

/** Returns the fields of all forms in the HTML, in order, without buttons. */
export function fieldsIn(html: string): URLSearchParams {
  const fields = new URLSearchParams()
  for (const [, input, area, text = '', select, options = ''] of html.matchAll(control)) {
    const attributes = input ?? area ?? select ?? ''
    const name = attribute(attributes, 'name')
    if (name === undefined) continue
    if (input !== undefined) {
      const isChoice = /^(checkbox|radio)$/.test(attribute(input, 'type') ?? '')
      if (isChoice && !/ checked(?=[ =/]|$)/.test(input)) continue
      fields.append(name, (attribute(input, 'value') ?? (isChoice ? 'on' : '')).replace(/[\r\n]/g, ''))
    } else if (area !== undefined)
      fields.append(
        name,
        decoded(text)
          .replace(/^\n/, '')
          .replace(/\r\n?|\n/g, '\r\n'),
      )
    else {
      const all = [...options.matchAll(/<option((?:[^>"]|"[^"]*")*)>/g)].map(([, one = '']) => one)
      const chosen = all.find((one) => / selected(?=[ =/]|$)/.test(one)) ?? all[0]
      fields.append(name, (chosen && attribute(chosen, 'value')) ?? '')
    }
  }
  return fields
}

function attribute(attributes: string, name: string): string | undefined {
  const [, value] = new RegExp(`(?:^| )${name}(?:="([^"]*)")?(?= |$|/)`).exec(attributes) ?? []
  return value === undefined
    ? new RegExp(`(?:^| )${name}(?= |$|/)`).test(attributes)
      ? ''
      : undefined
    : decoded(value)
}

function decoded(html: string): string {
  return html.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
}
