# The btrfs calls that need an ioctl, which Node does not offer. Every Debian has Perl.
#
#   btrfs.pl search FOLDER TREE SINCE   writes the transaction that made the folder's subvolume (8 bytes),
#                                       then the items of TREE (0: the subvolume's own) in blocks written
#                                       since transaction SINCE, in the kernel's layout
#   btrfs.pl commit FOLDER              ends the running transaction
#   btrfs.pl identify FOLDER UUID       gives a subvolume the received UUID (32 hex digits) that transfers know it by
#   btrfs.pl protect FOLDER             makes a subvolume read-only
#   btrfs.pl unprotect FOLDER           makes it writable
#
# No modules: loading them would take longer than the search.
use strict;

sub TREE_SEARCH_V2()  { 0xC0709411 }
sub GET_SUBVOL_INFO() { 0x81F8943C }
sub START_SYNC()      { 0x80089418 }
sub WAIT_SYNC()       { 0x40089416 }
sub GET_FLAGS()       { 0x80089419 }
sub SET_FLAGS()       { 0x4008941A }
sub SET_RECEIVED()    { 0xC0C89425 }
sub READ_ONLY()       { 2 }
sub MAX()             { ~0 }
sub HEAD_BYTES()      { 112 }
sub ROOM_BYTES()      { 1 << 18 }

my ($action, $folder, $tree, $since) = @ARGV;
open(my $handle, '<', $folder) or die "$folder: $!\n";

if ($action eq 'commit') {
    my $transaction = pack('Q', 0);
    ioctl($handle, START_SYNC, $transaction) or die "$folder: cannot begin a commit: $!\n";
    ioctl($handle, WAIT_SYNC, $transaction) or die "$folder: cannot wait for a commit: $!\n";
    exit;
}

if ($action eq 'protect' || $action eq 'unprotect') {
    protect($action eq 'protect');
    exit;
}

if ($action eq 'identify') {
    # The kernel identifies writable subvolumes only.
    my $isProtected = protect(0);
    my $received = pack('H32 Q Q x32 Q x128', $tree, 1, 0, 0);
    ioctl($handle, SET_RECEIVED, $received) or die "$folder: cannot identify it: $!\n";
    protect(1) if $isProtected;
    exit;
}

binmode STDOUT;
my $info = "\0" x 504;
ioctl($handle, GET_SUBVOL_INFO, $info) or die "$folder: cannot read its subvolume: $!\n";
print substr($info, 352, 8);
my ($object, $type, $offset) = (0, 0, 0);
my $answer = "\0" x (HEAD_BYTES + ROOM_BYTES);
for (;;) {
    my @range = ($object, MAX, $offset, MAX, $since, MAX, $type, 255);
    substr($answer, 0, HEAD_BYTES) = pack('Q7 L4 Q5', $tree, @range, 2**32 - 1, (0) x 5, ROOM_BYTES);
    ioctl($handle, TREE_SEARCH_V2, $answer) or die "$folder: cannot search: $!\n";
    my $count = unpack('L', substr($answer, 64, 4)) or last;
    my $last = my $end = HEAD_BYTES;
    for (1 .. $count) {
        $last = $end;
        $end += 32 + unpack('L', substr($answer, $last + 28, 4));
    }
    print(substr($answer, HEAD_BYTES, $end - HEAD_BYTES)) or die "cannot write: $!\n";
    ($object, $offset, $type) = unpack('Q2 L', substr($answer, $last + 8, 20));
    if   ($offset < MAX) { $offset++ }
    else                 { ($offset, $type) = (0, $type + 1) }
}

# Returns whether it was read-only before.
sub protect {
    my ($isWanted) = @_;
    my $flags = pack('Q', 0);
    ioctl($handle, GET_FLAGS, $flags) or die "$folder: cannot read its flags: $!\n";
    my $before = unpack('Q', $flags);
    my $after = $isWanted ? $before | READ_ONLY : $before & ~READ_ONLY;
    return $before & READ_ONLY if $after == $before;
    $flags = pack('Q', $after);
    ioctl($handle, SET_FLAGS, $flags) or die "$folder: cannot change its flags: $!\n";
    return $before & READ_ONLY;
}
