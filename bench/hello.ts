import Fastify from 'fastify'

/** The least that a server of this kind can do: prints its address, then greets whoever asks. */
const http = Fastify()
http.get('/', async () => ({ hello: 'world' }))
console.log(await http.listen({ host: '127.0.0.1', port: 0 }))
