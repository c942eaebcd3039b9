/** Reads the reason of an error, unless it quotes a text or the key. */

/** Characters of a reason. */
const longest = 200
/** Bytes of an answer that may have a reason. */
const mostBytes = 65_536
/** Letters and digits in a row that count as a quotation. */
const shared = { text: 12, key: 4 } as const
/** Letters and digits of a text that is shorter. */
const fewestLetters = 4

/** Returns the reason in the body of an error. Undefined: it has none, or the reason quotes a text or the key. */
export function providerReason(body: Buffer, texts: readonly string[], key: string | undefined): string | undefined {
  const said = body.length > mostBytes ? '' : reasonIn(body.toString('utf8'))
  const reason = said.replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim()
  // Checked before the cut, which could leave only the beginning of a quotation.
  const letters = lettersOf(reason).slice(0, 4 * longest)
  const isQuoting =
    texts.some((text) => quotes(letters, lettersOf(text), shared.text)) ||
    quotes(letters, lettersOf(key ?? ''), shared.key)
  return reason === '' || isQuoting ? undefined : reason.slice(0, longest)
}

function reasonIn(text: string): string {
  try {
    const answer: unknown = JSON.parse(text)
    const error = fieldOf(answer, 'error')
    const found = [fieldOf(error, 'message'), error, fieldOf(answer, 'message'), fieldOf(answer, 'detail')]
    return found.find((one) => typeof one === 'string') ?? ''
  } catch {
    return text
  }
}

function quotes(reason: string, text: string, most: number): boolean {
  if (text.length < most) return text.length >= fewestLetters && reason.includes(text)
  for (let at = 0; at + most <= reason.length; at++) if (text.includes(reason.slice(at, at + most))) return true
  return false
}

/** Only letters and digits, in lower case. Escapes and quotation marks then do not hide a quotation. */
function lettersOf(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '')
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}
