/** Stands for node:crypto in browsers, whose own SHA-256 needs HTTPS and answers late. Source: FIPS 180-4, 6.2. */

export function createHash(_algorithm: 'sha256') {
  let sent = ''
  const hash = {
    update(text: string) {
      sent += text
      return hash
    },
    digest: (_encoding: 'hex') => sha256(new TextEncoder().encode(sent)),
  }
  return hash
}

function sha256(bytes: Uint8Array): string {
  const length = Math.ceil((bytes.length + 9) / 64) * 64
  const padded = new DataView(new ArrayBuffer(length))
  for (const [at, byte] of [...bytes, 0x80].entries()) padded.setUint8(at, byte)
  padded.setUint32(length - 8, Math.floor(bytes.length / 2 ** 29))
  padded.setUint32(length - 4, bytes.length << 3)
  const state = Uint32Array.from(primes.slice(0, 8), (prime) => fraction(Math.sqrt(prime)))
  for (let at = 0; at < length; at += 64) addBlock(state, padded, at)
  return Array.from(state, (word) => word.toString(16).padStart(8, '0')).join('')
}

function addBlock(state: Uint32Array, data: DataView, start: number): void {
  const words = new Uint32Array(64)
  const word = (at: number) => words[at] ?? 0
  for (let at = 0; at < 64; at++) {
    const [near, far] = [word(at - 2), word(at - 15)]
    const mixed =
      (turned(near, 17) ^ turned(near, 19) ^ (near >>> 10)) + (turned(far, 7) ^ turned(far, 18) ^ (far >>> 3))
    words[at] = at < 16 ? data.getUint32(start + 4 * at) : word(at - 16) + word(at - 7) + mixed
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state
  for (const [at, constant] of constants.entries()) {
    const first = h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + constant + word(at)
    const second = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))
    ;[h, g, f, e, d, c, b, a] = [g, f, e, (d + first) >>> 0, c, b, a, (first + second) >>> 0]
  }
  for (const [at, value] of [a, b, c, d, e, f, g, h].entries()) state[at] = (state[at] ?? 0) + value
}

function turned(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by))
}

function fraction(root: number): number {
  return Math.floor((root % 1) * 2 ** 32)
}

const primes = Array.from({ length: 312 }, (_, number) => number).filter(
  (number) => number > 1 && !Array.from({ length: number - 2 }, (_, at) => at + 2).some((by) => number % by === 0),
)
const constants = Uint32Array.from(primes.slice(0, 64), (prime) => fraction(Math.cbrt(prime)))
